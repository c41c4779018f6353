"""Picture store: display copies of photos, named by their content.

They are outside the database.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from index.disk import read_note, sync, try_writing, write_note

NAME = re.compile(r"[0-9a-f]{64}")
REPAIR = "put its item again, or restore the file from a backup"
THREADS = 16  # that wait for the disk together: one flush answers several fsyncs


class PictureLost(LookupError):
    """A display copy is missing from the picture store, or damaged."""


class Pictures(Protocol):
    """A store of immutable JPEGs, each named by its SHA-256 (`name_of`).

    Pictures named by the catalog's rows stay; it deletes the rest under its writer's lock.
    """

    def put(self, pictures: Mapping[str, bytes]) -> None:
        """Store pictures under their names.

        Once this returns they survive a power cut.
        Raises OSError if that fails: then any of them may be missing.
        """
        ...

    def get(self, name: str) -> bytes:
        """Read a picture's bytes; PictureLost if they are missing or damaged."""
        ...

    def missing(self, names: Iterable[str]) -> set[str]:
        """List the names that have no picture."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete pictures; names without one are skipped."""
        ...

    def names(self) -> Iterator[str]:
        """Stream the names of all pictures, in any order."""
        ...

    def delete_partial(self, older: float) -> int:
        """Delete files of puts that ended `older` seconds ago; return how many.

        Puts that still run must succeed.
        """
        ...

    def read_note(self, name: str) -> bytes | None:
        """Read a note in the store; None for an unknown name."""
        ...

    def write_note(self, name: str, content: bytes, *, new: bool = False) -> bool:
        """Write a note atomically and durably.

        Returns False if a `new` one exists already.
        """
        ...

    def check(self) -> None:
        """Write a test file; OSError says why nothing can be stored."""
        ...


def name_of(jpeg: bytes) -> str:
    """Return the name under which a picture is stored."""
    return sha256(jpeg).hexdigest()


class FolderPictures:
    """Pictures as files in a folder. Safe for many threads and processes.

    Files lie in 4,096 subfolders by the first three digits of their names. Two levels of 256 would
    cost a folder, which takes a block on disk and an fsync, for nearly every picture.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._partial = folder / "partial"
        self._partial.mkdir(parents=True, exist_ok=True)
        sync(folder.parent)

    def put(self, pictures: Mapping[str, bytes]) -> None:
        """See Pictures: written to other files, synced, then renamed."""
        _at_once(lambda picture: self._store(*picture), pictures.items())
        # Also for a file that existed: its writer may not have synced the folder yet.
        folders = {self._path(name).parent for name in pictures}
        _at_once(sync, [*folders, self._folder])

    def get(self, name: str) -> bytes:
        """See Pictures."""
        try:
            jpeg = self._path(name).read_bytes()
        except OSError as unreadable:
            raise PictureLost(f"picture {name} is missing; {REPAIR}") from unreadable
        if name_of(jpeg) != name:
            raise PictureLost(f"picture {name} is damaged; {REPAIR}")
        return jpeg

    def missing(self, names: Iterable[str]) -> set[str]:
        """See Pictures."""
        return {name for name in names if not self._path(name).is_file()}

    def delete(self, names: Iterable[str]) -> None:
        """See Pictures."""
        for name in names:
            self._path(name).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        """See Pictures: other files are ignored."""
        for folder in self._folder.glob("[0-9a-f]" * 3):
            with os.scandir(folder) as files:
                for file in files:
                    name = file.name.removesuffix(".jpg")
                    if NAME.fullmatch(name) and file.name.endswith(".jpg"):
                        yield name

    def delete_partial(self, older: float) -> int:
        """See Pictures: a put writes a file again if it vanishes.

        That may happen before it is renamed.
        """
        count, newest = 0, time.time() - older
        for file in self._partial.iterdir():
            with suppress(FileNotFoundError):
                if file.stat().st_mtime <= newest:
                    file.unlink()
                    count += 1
        return count

    def read_note(self, name: str) -> bytes | None:
        """See Pictures: a file in the folder itself."""
        return read_note(self._folder / name)

    def write_note(self, name: str, content: bytes, *, new: bool = False) -> bool:
        """See Pictures."""
        return write_note(self._folder / name, content, new=new)

    def check(self) -> None:
        """See Pictures."""
        try_writing(self._partial)

    def _path(self, name: str) -> Path:
        return self._folder / name[:3] / f"{name}.jpg"

    def _store(self, name: str, jpeg: bytes) -> None:
        if not self._holds(name, jpeg):
            self._rename(self._write(jpeg), name, jpeg)

    def _holds(self, name: str, jpeg: bytes) -> bool:
        """Return whether the picture is whole; a damaged one is written again."""
        with suppress(OSError):
            return self._path(name).read_bytes() == jpeg
        return False

    def _write(self, jpeg: bytes) -> Path:
        path = self._partial / uuid4().hex
        try:
            with path.open("xb") as file:
                file.write(jpeg)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def _rename(self, partial: Path, name: str, jpeg: bytes) -> None:
        target = self._path(name)
        try:
            target.parent.mkdir(exist_ok=True)
            partial.rename(target)
        except FileNotFoundError:  # delete_partial took it for an interrupted put's
            self._rename(self._write(jpeg), name, jpeg)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _at_once(work: Callable[[Any], None], parts: Iterable[Any]) -> None:
    """Do the parts of some work on threads.

    Raises an error once all have ended.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(work, part) for part in parts]:
            future.result()
