"""Archives: a catalog's database and pictures in one tar, with a checksum of every part.

    snapshot.json           what it holds, to be read without the rest
    catalog.sqlite          the rows
    pictures/abc/abc….jpg   each named by its SHA-256
    end.json                the other parts' sizes and SHA-256: without it the archive is not whole

`tar -x` makes a data folder of it.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from index.pictures import name_of

FORM = 1  # of archives; another one is refused
HEAD, DATABASE, END = "snapshot.json", "catalog.sqlite", "end.json"
PIECE = 2**20  # bytes


class NotWhole(ValueError):
    """An archive that is damaged, cut off, or none of ours."""


@dataclass(frozen=True, slots=True)
class Held:
    """A collection that an archive holds, as of a revision; `name` is empty for one in the making.

    `fingerprint` is that of the model that made its bags.
    """

    name: str
    fingerprint: str
    revision: int
    items: int


@dataclass(frozen=True, slots=True)
class Head:
    """What an archive holds: collections, and how many pictures their items name.

    `catalog` is the name of the catalog that it was made of, empty in archives of older versions.
    """

    made: str  # ISO 8601, UTC
    collections: tuple[Held, ...]
    pictures: int
    catalog: str = ""

    @property
    def items(self) -> int:
        """The items of all collections that have a name."""
        return sum(collection.items for collection in self.collections if collection.name)


Picture = tuple[str, bytes | None]  # its name, and its bytes unless it is lost


def write(file: Path, head: Head, database: Path, pictures: Iterable[Picture]) -> list[str]:
    """Write an archive; gives the names of the pictures that were lost before."""
    with tarfile.open(file, "x:") as tar:
        text = _json({"form": FORM} | asdict(head))
        _add(tar, HEAD, text)
        with database.open("rb") as rows:
            digest = file_digest(rows, "sha256").hexdigest()
            rows.seek(0)
            tar.addfile(_member(DATABASE, database.stat().st_size), rows)
        count, lost = 0, []
        for name, jpeg in pictures:
            if jpeg is None:
                lost.append(name)
            else:
                count += 1
                _add(tar, _place(name), jpeg)
        parts = {HEAD: sha256(text).hexdigest(), DATABASE: digest}
        _add(tar, END, _sealed({"parts": parts, "pictures": count, "lost": lost}))
    return lost


class Archive:
    """The parts of an archive, which are read in their order: head, database, pictures, end.

    Every method raises NotWhole where a part is not there, or not as it was written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._reading():
            self._tar = tarfile.open(file, "r:")  # noqa: SIM115 - closed by `close`
        self._sums: dict[str, str] = {}
        self.lost: frozenset[str] = frozenset()  # known once all pictures are read

    def close(self) -> None:
        """Let go of the file."""
        self._tar.close()

    def read_head(self) -> Head:
        """What the archive holds."""
        with self._reading():
            text = self._text(self._next(), HEAD)
            self._sums[HEAD] = sha256(text).hexdigest()
            head = json.loads(text)
            if head["form"] != FORM:
                raise ValueError(f"it has form {head['form']}, and this version reads {FORM}")
            listed = tuple(Held(**row) for row in head["collections"])
            return Head(head["made"], listed, head["pictures"], str(head.get("catalog", "")))

    def copy_database(self, target: IO[bytes]) -> None:
        """Write the database to a file."""
        digest = sha256()
        with self._reading(), self._part(self._next(), DATABASE) as rows:
            while piece := rows.read(PIECE):
                digest.update(piece)
                target.write(piece)
        self._sums[DATABASE] = digest.hexdigest()

    def pictures(self) -> Iterator[tuple[str, bytes]]:
        """The pictures; behind the last one the end is read, which says whether this was all."""
        count = 0
        with self._reading():
            while (member := self._next()).name != END:
                yield self._picture(member)
                count += 1
            self._check_end(_unsealed(self._text(member, END)), count)

    def _picture(self, member: tarfile.TarInfo) -> tuple[str, bytes]:
        name = Path(member.name).stem
        with self._part(member, _place(name)) as part:
            jpeg = part.read()
        if name_of(jpeg) != name:
            raise ValueError(f"{member.name} is not as it was written")
        return name, jpeg

    def _check_end(self, end: dict[str, Any], count: int) -> None:
        for name, digest in end["parts"].items():
            if self._sums[name] != digest:
                raise ValueError(f"{name} is not as it was written")
        if end["pictures"] != count:
            raise ValueError(f"it holds {count} pictures of {end['pictures']}")
        self.lost = frozenset(end["lost"])

    def _next(self) -> tarfile.TarInfo:
        self._tar.members = []  # type: ignore[attr-defined]  # it would keep every header
        member = self._tar.next()
        if member is None:
            raise ValueError(f"it ends before {END}")
        return member

    def _part(self, member: tarfile.TarInfo, name: str) -> IO[bytes]:
        part = self._tar.extractfile(member) if member.isreg() else None
        if part is None or member.name != name:
            raise ValueError(f"{member.name} stands where {name} should")
        return part

    def _text(self, member: tarfile.TarInfo, name: str) -> bytes:
        with self._part(member, name) as part:
            return part.read()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (tarfile.TarError, LookupError, TypeError, ValueError) as broken:
            raise NotWhole(
                f"{self._file} is damaged, cut off, or no snapshot: {broken}"
            ) from broken


def read_head(file: Path) -> Head:
    """What an archive holds, by its own account; the rest of it is not looked at."""
    with closing(Archive(file)) as archive:
        return archive.read_head()


def now() -> str:
    """The time, to be written into a head."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _place(name: str) -> str:
    return f"pictures/{name[:3]}/{name}.jpg"


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    tar.members = []  # type: ignore[attr-defined]  # it would keep every header
    tar.addfile(_member(name, len(data)), BytesIO(data))


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


def _sealed(value: dict[str, Any]) -> bytes:
    """A value as JSON, with a checksum of itself."""
    return _json({"sha256": sha256(_json(value)).hexdigest(), "end": value})


def _unsealed(text: bytes) -> dict[str, Any]:
    sealed = json.loads(text)
    end: dict[str, Any] = sealed["end"]
    if sha256(_json(end)).hexdigest() != sealed["sha256"]:
        raise ValueError(f"{END} is not as it was written")
    return end
