"""Archives: a catalog's database and pictures in one tar, with checksums.

    snapshot.json           its contents, readable without the rest
    catalog.sqlite          the rows
    pictures/abc/abc….jpg   each named by its SHA-256
    end.json                the other parts' SHA-256: without it the archive is incomplete

`tar -x` makes a data folder of it.
"""

from __future__ import annotations

import json
import stat
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from index.backup.tar_members import Member, Members
from index.catalog.pictures import name_of

FORM = 1  # of archives; other forms are refused
HEAD, DATABASE, END = "snapshot.json", "catalog.sqlite", "end.json"
MOST_HEAD = 16 * 2**20  # bytes: some 80,000 collections
MOST_PICTURE = 32 * 2**20  # bytes: a display copy of 1,280 by 1,280 pixels has some MB
UNREADABLE = (tarfile.TarError, LookupError, TypeError, ValueError, AttributeError, RecursionError)


class NotWhole(ValueError):
    """A file is a damaged or incomplete archive, or none."""


@dataclass(frozen=True, slots=True)
class ArchivedCollection:
    """A collection in an archive as of a revision.

    `name` is empty during a re-embedding.
    `fingerprint` identifies the model of its bags.
    """

    name: str
    fingerprint: str
    revision: int
    items: int


@dataclass(frozen=True, slots=True)
class ArchiveHead:
    """The head of an archive: its collections and its number of pictures.

    `catalog` is the name of its catalog, empty in archives of older versions.
    """

    made: str  # ISO 8601, UTC
    collections: tuple[ArchivedCollection, ...]
    pictures: int
    catalog: str = ""

    @property
    def items(self) -> int:
        """The number of items in all named collections."""
        return sum(collection.items for collection in self.collections if collection.name)


Picture = tuple[str, bytes | None]  # a name, and its bytes unless it is lost


def write(file: Path, head: ArchiveHead, database: Path, pictures: Iterable[Picture]) -> list[str]:
    """Write an archive; return the names of lost pictures."""
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
        _add(tar, END, _seal({"parts": parts, "pictures": count, "lost": lost}))
    return lost


class Archive:
    """The parts of an archive, read in order: head, database, pictures, end.

    Every method raises NotWhole if a part is missing or damaged. No part is
    larger than the file, and none in memory is larger than its kind allows.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        if not stat.S_ISREG(file.stat().st_mode):
            raise NotWhole(f"{file} is no regular file, and so no snapshot")
        self._bytes = file.open("rb")
        self._members = Members(self._bytes)
        self._sums: dict[str, str] = {}
        self._rows = Member(DATABASE, 0, 0)
        self.lost: frozenset[str] = frozenset()  # known once all pictures are read

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()

    def read_head(self) -> ArchiveHead:
        """Read the head."""
        with self._reading():
            text = self._text(self._take(), HEAD, MOST_HEAD)
            self._sums[HEAD] = sha256(text).hexdigest()
            return _parse_head(json.loads(text))

    def copy_database(self, target: IO[bytes]) -> None:
        """Write the database to a file."""
        digest = sha256()
        with self._reading():
            self._rows = self._part(self._take(), DATABASE)
        for piece in self._pieces(self._rows):
            digest.update(piece)
            target.write(piece)
        self._sums[DATABASE] = digest.hexdigest()

    def pictures(self) -> Iterator[tuple[str, bytes]]:
        """Read the pictures by name, from the first one on, also repeatedly.

        After the last one it checks the end.
        """
        self._members.place, count, before = self._rows.end, 0, ""
        with self._reading():
            while (member := self._take()).name != END:
                name, jpeg = self._picture(member)
                if name <= before:
                    raise ValueError(f"{member.name} is there twice, or not in its place")
                yield name, jpeg
                count, before = count + 1, name
            # A lost picture's row in the database is longer than its name in the end.
            text = self._text(member, END, MOST_HEAD + self._rows.size)
            self._check_end(_unseal(text), count)

    def _picture(self, member: Member) -> tuple[str, bytes]:
        name = Path(member.name).stem
        jpeg = self._text(member, _place(name), MOST_PICTURE)
        if name_of(jpeg) != name:
            raise ValueError(f"{member.name} is not as it was written")
        return name, jpeg

    def _check_end(self, end: dict[str, Any], count: int) -> None:
        for name, digest in self._sums.items():
            if end["parts"][name] != digest:
                raise ValueError(f"{name} is not as it was written")
        if end["pictures"] != count:
            raise ValueError(f"it holds {count} pictures of {end['pictures']}")
        self.lost = frozenset(end["lost"])

    def _take(self) -> Member:
        member = self._members.take()
        if member is None:
            raise ValueError(f"it ends before {END}")
        return member

    def _part(self, member: Member, name: str) -> Member:
        if member.name != name:
            raise ValueError(f"{member.name!r:.100} stands where {name} should")
        return member

    def _text(self, member: Member, name: str, most: int) -> bytes:
        return self._members.read(self._part(member, name), most)

    def _pieces(self, member: Member) -> Iterator[bytes]:
        with self._reading():
            yield from self._members.pieces(member)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except UNREADABLE as broken:
            if isinstance(broken, NotWhole):
                raise
            raise NotWhole(f"{self.file} is damaged, cut off, or no snapshot: {broken}") from broken


def _parse_head(head: Any) -> ArchiveHead:
    """Parse a head from JSON.

    Raises an exception of UNREADABLE for an invalid one.
    """
    if head["form"] != FORM:
        raise ValueError(f"it has form {head['form']!r:.20}, and this version reads {FORM}")
    listed = tuple(ArchivedCollection(**row) for row in head["collections"])
    numbers = [head["pictures"], *(n for held in listed for n in (held.revision, held.items))]
    catalog = head.get("catalog", "")
    texts = [
        head["made"],
        catalog,
        *(text for held in listed for text in (held.name, held.fingerprint)),
    ]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise ValueError("its head counts in what is no number")
    "".join(texts).encode()  # ValueError for half a character
    if datetime.fromisoformat(head["made"]).tzinfo is None:
        raise ValueError("its head does not say in which time zone it was made")
    return ArchiveHead(head["made"], listed, head["pictures"], catalog)


def read_head(file: Path) -> ArchiveHead:
    """Read an archive's head, and nothing else."""
    with closing(Archive(file)) as archive:
        return archive.read_head()


def now() -> str:
    """Return the current time for a head."""
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


def _seal(value: dict[str, Any]) -> bytes:
    """Write a value as JSON with its checksum."""
    return _json({"sha256": sha256(_json(value)).hexdigest(), "end": value})


def _unseal(text: bytes) -> dict[str, Any]:
    sealed = json.loads(text)
    end: dict[str, Any] = sealed["end"]
    if sha256(_json(end)).hexdigest() != sealed["sha256"]:
        raise ValueError(f"{END} is not as it was written")
    return end
