"""Sweeping: display copies are deleted after long enough without a row.

A note in the store says since when each one is unnamed. Every sweep of the catalog, or of
a copy with the same store, removes names from the note that its own rows have.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection, Engine, select

from index.catalog.pictures import NAME, Pictures
from index.catalog.read_rows import chunks
from index.database.tables import pictures, retired_pictures
from index.disk import hold_lock

LOCK = 0x7E55EC0  # the number of our advisory lock in a database of PostgreSQL
BATCH = 200  # names a transaction
SHARE = 0.1  # of a store: a larger unnamed share is a mistake, not garbage
LEAST = 3  # pictures that may always be deleted
MOST = 500_000  # names in the note, some 40 MB; others are noted later
NOTE = "unnamed.txt"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepLimits:
    """The limits of a sweep: `seconds` unnamed, a `share` of all.

    With `dry` it deletes and notes nothing.
    """

    seconds: float
    share: float = SHARE
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of a sweep: numbers of unnamed and deleted pictures."""

    pictures: int
    unnamed: int
    due: tuple[str, ...]  # unnamed for long enough
    withheld: bool  # whether nothing is deleted because too large a share is unnamed
    deleted: int = 0
    partial: int = 0  # files of puts that were interrupted


class Postponed(Exception):
    """Pictures, and the rows that name them, may not be deleted now."""


class PictureSweeper:
    """Deletes pictures that no row names, with pauses of `pause` seconds.

    `writer` is exclusive: no put can name a picture while it is being deleted. `owned` returns
    within a transaction whether the store is its catalog's.
    """

    def __init__(
        self,
        reader: Engine,
        writer: Engine,
        store: Pictures,
        owned: Callable[[Connection], bool],
        pause: float,
    ) -> None:
        self._reader, self._writer, self._store = reader, writer, store
        self._owned, self._pause = owned, pause

    def sweep(self, limits: SweepLimits) -> Sweep:
        """Delete pictures unnamed for long enough; none of a large share."""
        with self._reader.begin() as connection:
            if not limits.dry and not self._owned(connection):
                return Sweep(0, 0, (), withheld=True)
        total, unnamed = self._find_unnamed()
        now, noted = int(time.time()), _unpack(self._store.read_note(NOTE))
        since = {name: min(noted.get(name, now), now) for name in unnamed}
        due = tuple(name for name, first in since.items() if now - first >= limits.seconds)
        withheld = len(unnamed) > max(LEAST, limits.share * total)
        preview = Sweep(total, len(unnamed), due, withheld)
        if limits.dry:
            return preview
        if withheld:
            _warn_of_withheld(preview, limits)
        gone = set() if withheld else self._delete(due)
        self._note(noted, {name: since[name] for name in unnamed if name not in gone})
        partial = self._store.delete_partial(limits.seconds)
        if gone or partial:
            facts = {"pictures": total, "unnamed": len(unnamed), "deleted": len(gone)}
            log.info("pictures that no item has were deleted", extra=facts | {"partial": partial})
        return Sweep(total, len(unnamed), due, withheld, len(gone), partial)

    def delete(self, connection: Connection, names: set[str]) -> set[str]:
        """Delete the pictures among some names that no row names; return them.

        Raises Postponed if the store belongs to another catalog, or while pictures are kept.
        """
        if not names:
            return set()
        with try_deleting(connection) as may:
            if not may or not self._owned(connection):
                raise Postponed
            gone = names - find_named(connection, list(names))
            self._store.delete(gone)
        return gone

    def _find_unnamed(self) -> tuple[int, list[str]]:
        """Count the pictures, and list the names that no row has."""
        total, unnamed = 0, list[str]()
        for names in _batches(self._store.names(), BATCH):
            total += len(names)
            with self._reader.begin() as connection:
                unnamed += sorted(set(names) - find_named(connection, names))
        return total, unnamed

    def _delete(self, names: Sequence[str]) -> set[str]:
        gone = set[str]()
        with suppress(Postponed):
            for part in _batches(iter(names), BATCH):
                with self._writer.begin() as connection:
                    gone |= self.delete(connection, set(part))
                time.sleep(self._pause)
        return gone

    def _note(self, noted: dict[str, int], since: dict[str, int]) -> None:
        """Note since when pictures are unnamed, unless the note has it already."""
        noted_names = dict(islice(since.items(), MOST))
        if noted_names.keys() != noted.keys():
            self._store.write_note(NOTE, _pack(noted_names))


def find_named(connection: Connection, names: Sequence[str]) -> set[str]:
    """Find the names that some row has."""
    named = set[str]()
    for part in chunks(names):
        for column in (pictures.c.name, retired_pictures.c.name):
            named.update(connection.execute(select(column).where(column.in_(part))).scalars())
    return named


def _warn_of_withheld(sweep: Sweep, limits: SweepLimits) -> None:
    """Warn of a large share.

    A running import or restore may explain a recent one.
    """
    many = len(sweep.due) > max(LEAST, limits.share * sweep.pictures)
    facts = {"pictures": sweep.pictures, "unnamed": sweep.unnamed, "due": len(sweep.due)}
    log.log(
        logging.WARNING if many else logging.INFO,
        "%d of %d pictures have no item, more than a sweep may delete, so all are kept: make sure "
        "that this is the right database and picture store; then `tessera sweep --all` deletes "
        "them",
        sweep.unnamed,
        sweep.pictures,
        extra=facts,
    )


def _pack(since: dict[str, int]) -> bytes:
    return "".join(f"{name} {first}\n" for name, first in since.items()).encode()


def _unpack(note: bytes | None) -> dict[str, int]:
    """Read the times of a note; damaged lines start again."""
    since: dict[str, int] = {}
    for line in (note or b"").decode("ascii", "replace").splitlines():
        name, _, first = line.partition(" ")
        if NAME.fullmatch(name) and first.isdecimal():
            since[name] = int(first)
    return since


def _batches(names: Iterable[str], size: int) -> Iterator[list[str]]:
    names = iter(names)
    while part := list(islice(names, size)):
        yield part


@contextmanager
def keep_pictures(engine: Engine) -> Iterator[None]:
    """Prevent any process of the database from deleting pictures within the block."""
    if engine.dialect.name == "sqlite":
        with hold_lock(_file(engine), shared=True, wait=True):
            yield
        return
    # Without a transaction, which the server would end when idle.
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock_shared({LOCK})")
        try:
            yield
        finally:
            connection.exec_driver_sql(f"SELECT pg_advisory_unlock_shared({LOCK})")


@contextmanager
def try_deleting(connection: Connection) -> Iterator[bool]:
    """Yield whether pictures may be deleted now, until the transaction ends."""
    if connection.dialect.name == "sqlite":
        with hold_lock(_file(connection.engine)) as alone:
            yield alone
    else:
        lock = f"SELECT pg_try_advisory_xact_lock({LOCK})"
        yield bool(connection.exec_driver_sql(lock).scalar())


def _file(engine: Engine) -> Path:
    assert engine.url.database is not None, "a database that is a file"
    return Path(f"{engine.url.database}-kept")
