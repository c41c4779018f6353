"""Garbage collection: rows, pictures and files without a reference.

Every step is a short transaction or can be repeated, so a process may be killed between or within
any two of them: the rest is garbage again, and the next call deletes it.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, delete, func, select, update

from index.catalog.names import release
from index.catalog.revisions import GARBAGE
from index.catalog.sweeping import PictureSweeper, Postponed
from index.database.tables import changes, collections, items, pictures, retired, retired_pictures

BATCH = 200  # items a transaction
ROWS = 1_000  # rows of retired and changes a transaction
PAGES = 500  # pages of SQLite a transaction
SPARE = 4_096  # free pages that SQLite keeps for the next puts: 16 MB
KEPT = 30 * 86_400  # seconds for which a mark is kept for a follower
SHOWN = {items: pictures, retired: retired_pictures}  # tables of their pictures' names
TOKEN = re.compile(r"[0-9a-f]{32}")

log = logging.getLogger(__name__)


class Collector:
    """Deletes garbage of a database, with pauses of `pause` seconds.

    A sweeper deletes its pictures.
    `writer` is exclusive: no put can name a picture while it is being deleted.

    SQLite has one writer at a time, and waiting ones retry every 1 to 100 milliseconds:
    without a pause they would wait until the end.
    """

    def __init__(self, writer: Engine, sweeper: PictureSweeper, pause: float) -> None:
        self._writer, self._sweeper, self._pause = writer, sweeper, pause

    def purge(self, collection: int, until: int, marks: Iterable[int]) -> int | None:
        """Forget retirements, see Catalog.purge; None if there is no such collection."""
        with self._writer.begin() as connection:
            floor = _raise_floor(connection, collection, until)
            if floor is None:
                return None
            keep_marks(connection, collection, marks)
        gone = retired.c.revision <= floor
        with suppress(Postponed):
            while self._delete(retired, collection, gone, ROWS):
                self._rest()
        # The mark at the floor itself, or the next one, proves the history of who is that far.
        retained = changes.c.kept > time.time() - KEPT
        unneeded = (changes.c.revision < floor) & func.coalesce(~retained, True)
        while self._delete(changes, collection, unneeded, ROWS):
            self._rest()
        return floor

    def sweep_collections(self) -> None:
        """Delete replaced or unfinished collections."""
        with self._writer.begin() as connection:
            chosen = select(collections.c.key, collections.c.token).where(GARBAGE)
            nameless = connection.execute(chosen).all()
        for key, token in nameless:
            with suppress(Postponed):
                self._sweep_collection(key, token)

    def _sweep_collection(self, key: int, token: str) -> None:
        for table, size in ((items, BATCH), (retired, ROWS), (changes, ROWS)):
            while self._delete(table, key, table.c.revision >= 0, size):
                self._rest()
        with self._writer.begin() as connection:
            condition = (collections.c.key == key) & GARBAGE
            connection.execute(delete(collections).where(condition))
            release(connection, token)

    def give_back(self) -> None:
        """Give most free pages of an SQLite file back to the disk."""
        if self._writer.dialect.name != "sqlite":
            return
        while True:
            with self._writer.begin() as connection:
                free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
                if free <= SPARE:
                    return
                for _ in range(min(PAGES, free - SPARE)):
                    # One page at a time: Python's sqlite3 ends this statement after the first.
                    connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
                if connection.exec_driver_sql("PRAGMA freelist_count").scalar_one() == free:
                    return  # the file was made without auto_vacuum
            self._rest()

    def _delete(self, table: Table, collection: int, condition: Any, size: int) -> bool:
        """Delete the next rows by revision, with their pictures.

        Returns False if there are none.
        Raises Postponed, and deletes nothing, if their pictures may not go now: without rows that
        name them, they would no longer be known as this catalog's.
        """
        selection = (table.c.collection == collection) & condition
        first = select(table.c.revision).where(selection).order_by(table.c.revision).limit(size)
        with self._writer.begin() as connection:
            revisions = connection.execute(first).scalars().all()
            if not revisions:
                return False
            selection &= table.c.revision <= revisions[-1]
            names = set[str]()
            if (shown := SHOWN.get(table)) is not None:
                gone = (shown.c.collection == collection) & (shown.c.revision <= revisions[-1])
                names.update(connection.execute(select(shown.c.name).where(gone)).scalars())
            connection.execute(delete(table).where(selection))
            self._sweeper.delete(connection, names)
        return True

    def _rest(self) -> None:
        time.sleep(self._pause)


def sweep_segments(reader: Engine, folder: Path, owned: Callable[[Connection], bool]) -> None:
    """Delete segments' folders whose token no collection has."""
    # Listed first: a collection's row is there before its folder is.
    folders = [path for path in folder.glob("*") if TOKEN.fullmatch(path.name)]
    with reader.begin() as connection:
        tokens = set(connection.execute(select(collections.c.token)).scalars())
        unknown = [path for path in folders if path.name not in tokens]
        if not unknown or not owned(connection):
            return
    for path in unknown:
        shutil.rmtree(path, ignore_errors=True)
    log.info("segments of no collection were deleted", extra={"folders": len(unknown)})


def _raise_floor(connection: Connection, collection: int, until: int) -> int | None:
    """Raise the floor of forgotten retirements, before the first one is deleted."""
    condition = collections.c.key == collection
    row = connection.execute(select(collections).where(condition)).one_or_none()
    if row is None:
        return None
    follower = select(func.min(collections.c.copied)).where(collections.c.replaces == collection)
    copied = connection.execute(follower).scalar()
    limit = row.revision if copied is None else copied
    floor: int = max(row.floor, min(until, limit))
    if floor > row.floor:
        connection.execute(update(collections).where(condition).values(floor=floor))
    return floor


def keep_marks(connection: Connection, collection: int, revisions: Iterable[int]) -> None:
    """Keep the marks of revisions for KEPT seconds from now.

    They are those that CatalogView.mark finds.
    """
    for revision in revisions:
        later = (changes.c.collection == collection) & (changes.c.revision >= revision)
        marked = select(func.min(changes.c.revision)).where(later).scalar_subquery()
        condition = (changes.c.collection == collection) & (changes.c.revision == marked)
        connection.execute(update(changes).where(condition).values(kept=int(time.time())))
