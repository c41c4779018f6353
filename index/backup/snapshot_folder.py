"""Folder of snapshots: named files, stray files, and an unfinished snapshot."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

from index.backup import archive as archives
from index.backup.archive import ArchiveHead, NotWhole
from index.backup.snapshots import InProgress, snapshot
from index.catalog.catalog import Catalog
from index.disk import hold_lock
from index.progress import Progress

MAKING = ".making"  # ending of a file that is locked while a snapshot is made
PARTIAL = ".partial"  # ending of the folder in which it is made
FILE = re.compile(r"\w[\w.-]{0,199}\.tar", re.ASCII)
OURS = re.compile(
    r"tessera-\d{8}T\d{6}Z-[0-9a-f]{4}\.tar", re.ASCII
)  # the names of snapshots made here
KINDS = {stat.S_IFDIR: "it is a folder", stat.S_IFLNK: "it is a link to another file"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot in the folder."""

    name: str
    size: int  # bytes
    head: ArchiveHead
    lost: frozenset[str] = frozenset()  # only of one that was just made


@dataclass(frozen=True, slots=True)
class StrayFile:
    """A .tar in the folder, not a usable snapshot, and the reason."""

    name: str  # with \\xff for bytes that are not UTF-8
    size: int  # bytes
    problem: str


class Snapshots:
    """The snapshots of a folder by name.

    Safe for many threads and processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, catalog: Catalog, progress: Progress) -> StoredSnapshot:
        """Make a snapshot; InProgress while another one is being made."""
        with self._reserve_name() as name:
            outcome = snapshot(catalog, self._folder / name, progress)
        return replace(self._read(name), lost=outcome.lost)

    def begin(self, catalog: Catalog) -> str:
        """Make a snapshot in a thread; return its name. InProgress as `make`.

        A failure is logged.
        """
        place = ExitStack()
        name = place.enter_context(self._reserve_name())

        def finish() -> None:
            with place:
                try:
                    snapshot(catalog, self._folder / name, lambda *_: None)
                except Exception:
                    log.exception("the snapshot %s was not made", name)

        Thread(target=finish, name="snapshot", daemon=True).start()
        return name

    def making(self) -> str | None:
        """Find the name of the unfinished snapshot, None without one."""
        for path in self._list_unfinished(MAKING):
            with suppress(OSError), hold_lock(path, shared=True) as free:
                if not free:
                    return path.name.removesuffix(MAKING)
        return None

    @contextmanager
    def _reserve_name(self) -> Iterator[str]:
        """Yield the name of a new snapshot, and prevent any other."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(self._folder / "lock") as alone:
            if not alone:
                raise InProgress("another snapshot is being made; try again once it is there")
            for partial in self._list_unfinished(PARTIAL):  # of a killed process
                shutil.rmtree(partial, ignore_errors=True)
            for path in self._list_unfinished(MAKING):
                path.unlink(missing_ok=True)
            name = f"tessera-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}.tar"
            making = self._folder / f"{name}{MAKING}"
            try:
                with hold_lock(making):
                    yield name
            finally:
                making.unlink(missing_ok=True)

    def _list_unfinished(self, ending: str) -> list[Path]:
        """List files or folders of unfinished snapshots with names from here."""
        kind = stat.S_ISDIR if ending == PARTIAL else stat.S_ISREG
        return [
            self._folder / name
            for name in self._list_names(ending)
            if OURS.fullmatch(name.removesuffix(ending)) and kind(_read_mode(self._folder / name))
        ]

    def _list_names(self, ending: str) -> list[str]:
        try:
            return [path.name for path in self._folder.iterdir() if path.name.endswith(ending)]
        except FileNotFoundError:
            return []

    def all(self) -> list[StoredSnapshot]:
        """List snapshots with a sound first part, the newest first."""
        return self.list_files()[0]

    def list_files(self) -> tuple[list[StoredSnapshot], list[StrayFile]]:
        """List snapshots, the newest first, and stray files; OSError without the folder.

        Files that vanish meanwhile are left out.
        """
        snapshots: list[StoredSnapshot] = []
        foreign: list[StrayFile] = []
        for name in sorted(self._list_names(".tar")):
            try:
                snapshots.append(self._read(name))
            except FileNotFoundError:
                continue
            except (OSError, NotWhole) as broken:
                log.warning("%s", broken)
                foreign.extend(self._describe_foreign(name, broken))
        made = {stored.name: datetime.fromisoformat(stored.head.made) for stored in snapshots}
        return sorted(snapshots, key=lambda stored: made[stored.name], reverse=True), foreign

    def _describe_foreign(self, name: str, broken: Exception) -> Iterator[StrayFile]:
        problem = (
            broken.strerror if isinstance(broken, OSError) else str(broken.__cause__ or broken)
        )
        try:
            size = (self._folder / name).lstat().st_size
        except FileNotFoundError:
            return
        yield StrayFile(_make_readable(name), size, problem or type(broken).__name__)

    def path(self, name: str) -> Path:
        """Return the file of a snapshot.

        LookupError for an unknown name or a stray file.
        A damaged one that was made here can still be read and deleted.
        """
        unknown = LookupError(f"no snapshot {name!r}; GET /snapshots lists them")
        if not FILE.fullmatch(name):
            raise unknown
        try:
            self._read(name)
        except FileNotFoundError:
            raise unknown from None
        except (OSError, NotWhole) as broken:
            if not (OURS.fullmatch(name) and stat.S_ISREG(_read_mode(self._folder / name))):
                raise LookupError(f"{name!r} is no snapshot: {broken}") from broken
        return self._folder / name

    def delete(self, name: str) -> None:
        """Delete a snapshot; LookupError as `path`."""
        self.path(name).unlink(missing_ok=True)

    def _read(self, name: str) -> StoredSnapshot:
        """Read a snapshot; OSError or NotWhole say what is wrong with it."""
        path = self._folder / name
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise NotWhole(KINDS.get(stat.S_IFMT(status.st_mode), "it is no regular file"))
        if not FILE.fullmatch(name):
            raise NotWhole(
                "its name is not one of a snapshot: letters of ASCII, digits, '_', '-' and '.'"
            )
        return StoredSnapshot(name, status.st_size, archives.read_head(path))


def _read_mode(path: Path) -> int:
    """Read the mode of a file, 0 for none."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _make_readable(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
