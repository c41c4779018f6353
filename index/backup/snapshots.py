"""Snapshots: made of a catalog during writes, and restored into one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, create_engine, event, exists, func, inspect, select
from sqlalchemy.exc import DBAPIError

from index.backup import archive as archives
from index.backup import foreign_databases
from index.backup.archive import DATABASE, Archive, ArchivedCollection, ArchiveHead, NotWhole
from index.backup.transfer import discard_all, in_use, transfer
from index.catalog.catalog import Catalog, room
from index.catalog.ownership import LOOK
from index.catalog.pictures import PictureLost, Pictures
from index.catalog.sweeping import keep_pictures
from index.database.catalog_name import read_name
from index.database.engines import file_of, look, url_of
from index.database.errors import translate
from index.database.storage import Storage
from index.database.tables import collections, items, pictures
from index.disk import hold_lock, sync
from index.progress import Progress

STAGING = "restoring"  # folder below the data folder with files of an unfinished restore
BATCH = 64  # pictures that are stored together, at most
BATCH_BYTES = 32 * 2**20  # bytes that are stored together, about

log = logging.getLogger(__name__)


class InProgress(OSError):
    """Another process is doing the same work."""


class NotEmpty(ValueError):
    """A catalog has items, which may not be replaced."""


@dataclass(frozen=True, slots=True)
class SnapshotOutcome:
    """The head of a snapshot, and the names of lost pictures."""

    head: ArchiveHead
    lost: frozenset[str]


def snapshot(catalog: Catalog, file: Path, progress: Progress) -> SnapshotOutcome:
    """Write a catalog's present contents to a new archive, durably.

    Others can write meanwhile. FileExistsError if the file exists, NoSpace if the disk is full.
    """
    if file.exists():
        raise FileExistsError(f"{file} is there already; choose another name")
    unfinished = file.with_name(f"{file.name}.partial")
    # Pictures are kept first: those named from now on stay until the archive has them.
    with _make_staging(unfinished) as staging, keep_pictures(catalog.reader), room():
        archive = staging / "archive.tar"
        _open_rows(staging, catalog.pictures).close()  # to make the tables
        with catalog.reader.begin() as source, _begin_unjournaled(staging) as target:
            transfer(source, target, progress)
            head = _make_head(target, read_name(source) or "")
        with closing(_open_rows(staging, catalog.pictures)) as copy:
            shown = _read_pictures(copy, head.pictures, progress)
            lost = archives.write(archive, head, staging / DATABASE, shown)
        sync(archive)
        archive.rename(file)
        sync(file.parent)
    return SnapshotOutcome(head, frozenset(lost))


def restore(
    catalog: Catalog, file: Path, folder: Path, progress: Progress, *, force: bool = False
) -> SnapshotOutcome:
    """Check an archive, then restore it into a catalog in one transaction.

    `force` deletes existing items; without it they raise NotEmpty. NotWhole says what is wrong with
    the archive. If anything fails, or the process ends, the catalog stays as it was.
    Services that use it have the new contents with their next request.
    """
    with (
        closing(Archive(file)) as archive,
        _make_staging(folder / STAGING) as staging,
        keep_pictures(catalog.reader),
        room(),
    ):
        with catalog.reader.begin() as connection:
            _refuse(connection, force)
        # All of it is read before anything is stored, so a refused one leaves nothing.
        head = _check(archive, staging / DATABASE, progress)
        _store_pictures(archive.pictures(), catalog.pictures, head.pictures, progress)
        with (
            _translate_errors(file),
            closing(_open_rows(staging, catalog.pictures)) as copy,
            copy.reader.begin() as source,
            catalog.exclusive.begin() as target,
        ):
            _refuse(target, force)
            discard_all(target)
            transfer(source, target, progress)
            catalog.ownership.pass_on(target)
        catalog.ownership.settle()
    return SnapshotOutcome(head, archive.lost)


def refuse_occupied(storage: Storage, *, force: bool = False) -> None:
    """Raise NotEmpty for items in a server's database.

    So a refused restore claims no data folder for it.
    """
    if force or file_of(url_of(storage.database, storage.folder)) is not None:
        return
    with look(storage) as connection:
        if inspect(connection).has_table(items.name):
            _refuse(connection, force)


def verify(file: Path, progress: Progress) -> SnapshotOutcome:
    """Read all of an archive; NotWhole says what is wrong with it.

    Its database is copied to a temporary file.
    """
    with (
        closing(Archive(file)) as archive,
        TemporaryDirectory(prefix="tessera-") as folder,
        room(),
    ):
        head = _check(archive, Path(folder) / DATABASE, progress)
    return SnapshotOutcome(head, archive.lost)


def _check(archive: Archive, database: Path, progress: Progress) -> ArchiveHead:
    """Read an archive to its end; write its database to a file."""
    head = archive.read_head()
    with database.open("xb") as rows:
        archive.copy_database(rows)
    try:
        with foreign_databases.open_checked(database) as connection:
            named = connection.execute("SELECT DISTINCT name FROM pictures ORDER BY name")
            for count, _ in enumerate(_match(archive, (name for (name,) in named)), start=1):
                progress("check", count, head.pictures)
    except ValueError as wrong:
        if isinstance(wrong, NotWhole):
            raise
        raise NotWhole(f"{archive.file} is damaged, or no snapshot: {wrong}") from wrong
    return head


def _match(archive: Archive, named: Iterator[str]) -> Iterator[str]:
    """Yield the names of an archive's pictures.

    ValueError if its rows name others.
    """
    absent: set[str] = set()
    for name, _ in archive.pictures():
        absent.update(takewhile(name.__ne__, named))
        yield name
    absent.update(named)
    if absent != archive.lost:
        raise ValueError(
            f"its items name {len(absent):,} pictures that it lacks, and it says that "
            f"{len(archive.lost):,} are lost"
        )


@contextmanager
def _translate_errors(file: Path) -> Iterator[None]:
    """Raise NotWhole for rows if a database cannot read or store them."""
    try:
        yield
    except DBAPIError as failed:
        raise NotWhole(f"{file} holds rows that cannot be restored: {failed.orig}") from failed


@contextmanager
def _make_staging(folder: Path) -> Iterator[Path]:
    """Make a temporary folder for unfinished work; empty a killed process's.

    Raises FileExistsError for a folder with files of other programs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "lock"
    if not lock.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} is in the way, and not of Tessera; move it elsewhere")
    with hold_lock(lock) as alone:
        if not alone:
            raise InProgress(f"another process is working in {folder}; let it finish")
        try:
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path != lock:
                    path.unlink()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _open_rows(staging: Path, store: Pictures) -> Catalog:
    """An archive's database as a catalog, migrated if it is old."""
    catalog = Catalog(Storage(staging), store, LOOK)
    event.listen(catalog.reader, "checkout", _decode_strictly)
    return catalog


def _decode_strictly(connection: Any, *_: object) -> None:
    """Refuse text in another encoding than UTF-8.

    It would be stored as something else.
    """
    connection.text_factory = str


@contextmanager
def _begin_unjournaled(staging: Path) -> Iterator[Connection]:
    """Begin a transaction of an archive's database, without a journal."""
    engine = create_engine(f"sqlite:///{staging / DATABASE}", hide_parameters=True)
    event.listen(engine, "connect", _forgo_journal)
    event.listen(engine, "handle_error", translate, retval=True)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _forgo_journal(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")


def _make_head(rows: Connection, catalog: str) -> ArchiveHead:
    count = (
        select(func.count()).select_from(items).where(items.c.collection == collections.c.key)
    ).scalar_subquery()
    chosen = select(collections, count.label("items")).order_by(collections.c.key)
    descriptions = tuple(
        ArchivedCollection(row.name or "", row.fingerprint, row.revision, row.items)
        for row in rows.execute(chosen)
    )
    named = select(func.count(pictures.c.name.distinct()))
    return ArchiveHead(archives.now(), descriptions, rows.execute(named).scalar_one(), catalog)


def _read_pictures(copy: Catalog, total: int, progress: Progress) -> Iterator[archives.Picture]:
    """Read the pictures of all rows by name; None for lost ones."""
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
    batch: dict[str, bytes] = {}
    count = 0
    for name, jpeg in parts:
        batch[name] = jpeg
        if len(batch) == BATCH or sum(map(len, batch.values())) > BATCH_BYTES:
            count += _store(batch, store)
            progress("pictures", count, total)
    count += _store(batch, store)
    progress("pictures", count, total)


def _store(batch: dict[str, bytes], store: Pictures) -> int:
    """Store a batch and empty it; return its number of pictures."""
    count = len(batch)
    if batch:
        store.put(batch)
        batch.clear()
    return count


def _refuse(connection: Connection, force: bool) -> None:
    """Refuse to replace items without `force`."""
    occupied = exists().where(items.c.collection == collections.c.key, in_use)
    if not force and connection.execute(select(occupied)).scalar():
        place = "a new data folder"
        if connection.dialect.name != "sqlite":
            place = "an empty database, which TESSERA_DATABASE has to name"
        raise NotEmpty(f"there are items already: restore into {place}, or replace them by --force")
