"""Sources of an import, with their places, stamps and outcomes."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal

from app.imports.file_metadata.regular_files import NO_FILE, open_regular
from app.imports.folders.objects import StoredObject
from app.imports.photo_files import FileReading
from index.items import LONGEST_ID, metadata_text

ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")  # a byte of a path that is no UTF-8
Status = Literal["stored", "patched", "skipped", "refused", "unread", "joined", "deleted"]
PhotoPlace = Path | str | bytes | StoredObject  # a file, an address to fetch from, or bytes
Change = Literal["", "new", "changed", "renamed", "restated", "deleted"]


@dataclass(frozen=True, slots=True)
class ItemSource:
    """An item to import: its place and its stamp.

    The stamp has its files' sizes and times. The item of a `movable` source keeps its id and its
    vectors under another path, and has another id where its own is taken.
    """

    id: str
    place: str
    stamp: str
    photos: tuple[PhotoPlace, ...] = ()
    sentences: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    size: int = 0  # about how many bytes its texts have
    spares: tuple[Path, ...] = ()  # files of the same photo, if it cannot be read
    sidecars: tuple[Path, ...] = ()
    reading: FileReading | None = None  # of metadata from its files
    movable: bool = False

    @property
    def spare_id(self) -> str | None:
        """The id if another item has its own; None for fixed ids."""
        if not self.movable:
            return None
        digest = blake2b(f"{self.place}\n{self.stamp}".encode(), digest_size=4).hexdigest()
        return name_file(f"{self.id}~{digest}")


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The outcome of a source; "stored" and "patched" mean safe on disk.

    "patched" is an item of which only metadata or place changed, and "unread" a file or a folder
    of a kind that is not read: the reason names the kind. "joined" is a file of another one's item,
    such as a sidecar. A stored item's reason says what of it is missing. A refused row has the
    `source` of its item, as far as that is known. A renamed file has its `former` place.
    """

    place: str
    status: Status
    reason: str = ""
    source: str | None = None
    change: Change = ""
    former: str = ""


def digest_text(text: str) -> bytes:
    """Return 8 bytes for a text, to hold many."""
    return blake2b(text.encode(), digest_size=8).digest()


class UniqueIds:
    """Refuses a second row or line of an id.

    Holds 8 bytes of each id's digest.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit  # of a file: "row" or "line"
        self._numbers = dict[bytes, int]()  # of rows by the digests of their ids

    def check(self, name: str, number: int) -> None:
        """Raise ValueError for an id of another row."""
        first = self._numbers.setdefault(digest_text(name), number)
        if first != number:
            raise ValueError(f"the id {name!r:.220} is that of {self._unit} {first} too")


def is_address(named: str) -> bool:
    """Return whether a photo is named by its address."""
    return named.startswith(("http://", "https://"))


def readable(path: os.PathLike[str] | str) -> str:
    r"""Write a path as Unicode, with escapes such as \xff.

    They stand for bytes that are no UTF-8.

    >>> readable("Gr\udcf6sse.jpg")
    'Gr\\xf6sse.jpg'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def name_file(path: Path | str) -> str:
    """Return the id of a file: its path.

    Of one that is too long both ends stay, and a digest stands for what is between them.
    """
    name = readable(path)
    data = name.encode()
    if len(data) <= LONGEST_ID:
        return name
    digest = blake2b(data, digest_size=16).hexdigest()
    half = (LONGEST_ID - len(digest) - len("……".encode())) // 2
    first, last = data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore")
    return f"{first}…{digest}…{last}"


def is_gone(place: str | None) -> bool:
    """Return whether an item's source no longer exists, as after a move.

    A place is a photo's path, or `file#id` of a line or a row; paths and ids may hold # as well.
    """
    if place is None or "://" in place:
        return False
    files = (place[: mark.start()] for mark in re.finditer("#|$", place))
    return not any(_is_file(file) for file in files)


def _is_file(place: str) -> bool:
    return any(map(os.path.isfile, spell(place)))  # False for a long id


def spell(place: str) -> tuple[str | bytes, bytes]:
    """Return the possible paths of a place."""
    return place, ESCAPED.sub(lambda byte: bytes([int(byte[1], 16)]), place.encode())


def stamp_at(place: str) -> str | None:
    """Return the stamp of a place now; empty if it is gone.

    None if that is not known, as for a folder that cannot be read.
    """
    if not os.path.isabs(place):  # noqa: PTH117 - an address is no path
        return None
    for path in spell(place):
        try:
            return write_stamp(os.stat(path))  # noqa: PTH116 - bytes are no Path
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError):
            return None
    return ""


def make_stamp(file: Path) -> str:
    """Return a regular file's size and time.

    ValueError for a pipe or a device.
    """
    return write_stamp(file.stat())


def write_stamp(status: os.stat_result) -> str:
    """Write the size and the last change of a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(NO_FILE)
    return f"{status.st_size}-{status.st_mtime_ns}"


def open_place(place: str) -> AbstractContextManager[BufferedReader]:
    """Open the photo at a place."""
    path = next((path for path in spell(place) if os.path.isfile(path)), place)  # noqa: PTH113
    return open_regular(path)


def stamp_row(
    name: str,
    metadata: Mapping[str, Any],
    sentences: Sequence[str],
    photos: Sequence[PhotoPlace],
    looks: str,
) -> str:
    """Return a row's stamp: a digest, and its photos' stamps."""
    content = [name, metadata_text(metadata), list(sentences), [_name_photo(p) for p in photos]]
    digest = sha256(json.dumps(content).encode()).hexdigest()[:32]
    return f"{digest}-{looks}" if looks else digest


def _name_photo(photo: PhotoPlace) -> str:
    return sha256(photo).hexdigest() if isinstance(photo, bytes) else str(photo)


def same_but_for_metadata(source: ItemSource, metadata: Mapping[str, Any], stamp: str) -> bool:
    """Return whether a stored row had the same photos and sentences.

    Then its stamp is that of the source with the stored metadata.
    """
    looks = source.stamp.partition("-")[2]
    return stamp_row(source.id, metadata, source.sentences, source.photos, looks) == stamp
