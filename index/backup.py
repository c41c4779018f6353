"""Backup: snapshots of a catalog while it is written to, and their way back into one."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

from sqlalchemy import Connection, create_engine, event, exists, func, select

from index import archives
from index.archives import DATABASE, Archive, Head, Held, NotWhole
from index.catalog import Catalog, room
from index.catalog_name import read_name
from index.disk import locked, sync
from index.failures import translated
from index.keeping import keeping
from index.ownership import LOOK
from index.pictures import PictureLost, Pictures
from index.progress import Progress
from index.storage import Storage
from index.tables import collections, items, pictures
from index.transfer import discard_all, in_use, transfer

STAGING = "restoring"  # below the data folder: what an unfinished restore has unpacked
MAKING = ".making"  # ends the name of a file that is locked while a snapshot is made
BATCH = 64  # pictures that are stored together
FILE = re.compile(r"\w[\w.-]{0,199}\.tar", re.ASCII)

log = logging.getLogger(__name__)


class InProgress(OSError):
    """Another process is at the same work."""


class NotEmpty(ValueError):
    """A catalog that holds items, and is not to be replaced."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a snapshot holds, and the names of pictures that its items have lost."""

    head: Head
    lost: frozenset[str]


def snapshot(catalog: Catalog, file: Path, progress: Progress) -> Outcome:
    """Write all that a catalog holds at this moment to a new archive, on disk when this returns.

    Others go on writing. FileExistsError if there is such a file, NoSpace if the disk is full.
    """
    if file.exists():
        raise FileExistsError(f"{file} is there already; choose another name")
    unfinished = file.with_name(f"{file.name}.partial")
    # Pictures are kept first: what a row names from now on is there until the archive has it.
    with _staging(unfinished) as staging, keeping(catalog.reader), room():
        archive = staging / "archive.tar"
        _rows(staging, catalog.pictures).close()  # which makes the tables
        with catalog.reader.begin() as source, _unjournaled(staging) as target:
            transfer(source, target, progress)
            head = _head(target, read_name(source) or "")
        with closing(_rows(staging, catalog.pictures)) as copy:
            shown = _pictures(copy, head.pictures, progress)
            lost = archives.write(archive, head, staging / DATABASE, shown)
        sync(archive)
        archive.rename(file)
        sync(file.parent)
    return Outcome(head, frozenset(lost))


def restore(
    catalog: Catalog, file: Path, folder: Path, progress: Progress, *, force: bool = False
) -> Outcome:
    """Put what an archive holds into a catalog, in one transaction once all of it was checked.

    `force` deletes what is there; without it NotEmpty says so. NotWhole says what is wrong with
    the archive. Whatever fails, and whenever the process ends, the catalog stays as it was, and
    services that use it turn to the new contents with their next request.
    """
    with (
        closing(Archive(file)) as archive,
        _staging(folder / STAGING) as staging,
        keeping(catalog.reader),
        room(),
    ):
        with catalog.reader.begin() as connection:
            _refuse(connection, force)
        head = archive.read_head()
        with (staging / DATABASE).open("xb") as database:
            archive.copy_database(database)
        _store_pictures(archive.pictures(), catalog.pictures, head.pictures, progress)
        with (
            closing(_rows(staging, catalog.pictures)) as copy,
            copy.reader.begin() as source,
            catalog.exclusive.begin() as target,
        ):
            _refuse(target, force)
            discard_all(target)
            transfer(source, target, progress)
            catalog.ownership.pass_on(target)
        catalog.ownership.settle()
    return Outcome(head, archive.lost)


def verify(file: Path, progress: Progress) -> Outcome:
    """Read all of an archive; NotWhole says what is wrong with it."""
    with closing(Archive(file)) as archive, Path(os.devnull).open("wb") as nowhere:
        head = archive.read_head()
        archive.copy_database(nowhere)
        for count, _ in enumerate(archive.pictures(), start=1):
            progress("pictures", count, head.pictures)
    return Outcome(head, archive.lost)


@dataclass(frozen=True, slots=True)
class Stored:
    """A snapshot in a folder of them."""

    name: str
    size: int  # bytes
    head: Head
    lost: frozenset[str] = frozenset()  # of one that was just made


class Snapshots:
    """The snapshots of a folder, by name. Safe for many threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, catalog: Catalog, progress: Progress) -> Stored:
        """Make a snapshot; InProgress while another one is made here."""
        with self._alone() as name:
            outcome = snapshot(catalog, self._folder / name, progress)
        return replace(self._stored(name), lost=outcome.lost)

    def begin(self, catalog: Catalog) -> str:
        """Begin a snapshot, which a thread makes, and give its name; InProgress as `make`.

        What it fails with is logged.
        """
        place = ExitStack()
        name = place.enter_context(self._alone())

        def finish() -> None:
            with place:
                try:
                    snapshot(catalog, self._folder / name, lambda *_: None)
                except Exception:
                    log.exception("the snapshot %s was not made", name)

        Thread(target=finish, name="snapshot", daemon=True).start()
        return name

    def making(self) -> str | None:
        """The name of the one that some process is making, None if there is none."""
        for path in self._folder.glob(f"*{MAKING}"):
            with locked(path, shared=True) as free:
                if not free:
                    return path.name.removesuffix(MAKING)
        return None

    @contextmanager
    def _alone(self) -> Iterator[str]:
        """The name of a new snapshot, which nobody else makes meanwhile."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(self._folder / "lock") as alone:
            if not alone:
                raise InProgress("another snapshot is being made; try again once it is there")
            for partial in self._folder.glob("*.partial"):  # of a process that was killed
                shutil.rmtree(partial, ignore_errors=True)
            for path in self._folder.glob(f"*{MAKING}"):
                path.unlink()
            name = f"tessera-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}.tar"
            making = self._folder / f"{name}{MAKING}"
            with locked(making):
                yield name
            making.unlink(missing_ok=True)

    def all(self) -> list[Stored]:
        """Those that are whole by their first part, the newest first."""
        snapshots = []
        for path in self._folder.glob("*.tar"):
            try:
                snapshots.append(self._stored(path.name))
            except (OSError, NotWhole) as broken:
                log.warning("%s", broken)
        return sorted(snapshots, key=lambda snapshot: snapshot.head.made, reverse=True)

    def path(self, name: str) -> Path:
        """The file of a snapshot; LookupError for an unknown name."""
        path = self._folder / name
        if not FILE.fullmatch(name) or not path.is_file():
            raise LookupError(f"no snapshot {name!r}; GET /snapshots lists them")
        return path

    def delete(self, name: str) -> None:
        """Delete a snapshot; LookupError for an unknown name."""
        self.path(name).unlink(missing_ok=True)

    def _stored(self, name: str) -> Stored:
        path = self.path(name)
        return Stored(name, path.stat().st_size, archives.read_head(path))


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """A folder for unfinished work, deleted in the end; a killed process's is emptied first."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "lock"
    with locked(lock) as alone:
        if not alone:
            raise InProgress(f"another process is working in {folder}; let it finish")
        try:
            for path in folder.iterdir():
                if path != lock:
                    path.unlink()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _rows(staging: Path, store: Pictures) -> Catalog:
    """The database of an archive as a catalog; one that an older version made is migrated."""
    return Catalog(Storage(staging), store, LOOK)


@contextmanager
def _unjournaled(staging: Path) -> Iterator[Connection]:
    """A transaction of the database of an archive, without what protects others from a crash."""
    engine = create_engine(f"sqlite:///{staging / DATABASE}")
    event.listen(engine, "connect", _forgo_journal)
    event.listen(engine, "handle_error", translated, retval=True)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _forgo_journal(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")


def _head(rows: Connection, catalog: str) -> Head:
    count = (
        select(func.count()).select_from(items).where(items.c.collection == collections.c.key)
    ).scalar_subquery()
    chosen = select(collections, count.label("items")).order_by(collections.c.key)
    descriptions = tuple(
        Held(row.name or "", row.fingerprint, row.revision, row.items)
        for row in rows.execute(chosen)
    )
    named = select(func.count(pictures.c.name.distinct()))
    return Head(archives.now(), descriptions, rows.execute(named).scalar_one(), catalog)


def _pictures(copy: Catalog, total: int, progress: Progress) -> Iterator[archives.Picture]:
    """The pictures that rows name, in the order of their names, None for those that are lost."""
    chosen = select(pictures.c.name).distinct().order_by(pictures.c.name)
    with copy.reader.begin() as connection:
        names = connection.execute(chosen, execution_options={"yield_per": 1_000}).scalars()
        for count, name in enumerate(names, start=1):
            try:
                yield name, copy.pictures.get(name)
            except PictureLost as lost:
                log.warning("%s", lost)
                yield name, None
            progress("pictures", count, total)


def _store_pictures(
    parts: Iterator[tuple[str, bytes]], store: Pictures, total: int, progress: Progress
) -> None:
    count = 0
    while batch := dict(islice(parts, BATCH)):
        store.put(batch)
        count += len(batch)
        progress("pictures", count, total)


def _refuse(connection: Connection, force: bool) -> None:
    """NotEmpty where items would be lost that nobody said to replace."""
    occupied = exists().where(items.c.collection == collections.c.key, in_use)
    if not force and connection.execute(select(occupied)).scalar():
        raise NotEmpty(
            "there are items already: restore into a new data folder, or replace them by --force"
        )
