"""Sweeping: display copies that no row names are deleted once that has been so for long enough.

A note in the store says since when each is known to be unnamed. Every sweep of the catalog, and of
a copy of it that uses the same store, drops from it what its own rows name.
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
SHARE = 0.1  # of a store: more that no row names is no garbage, but a mistake
LEAST = 3  # pictures that may go whatever their share is
MOST = 500_000  # names in the note: some 40 MB; others are noted once these are gone
NOTE = "unnamed.txt"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepLimits:
    """What a sweep may delete: what was unnamed for `seconds`, no more than a `share`.

    With `dry` it deletes nothing, and notes nothing.
    """

    seconds: float
    share: float = SHARE
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found: pictures in the store, those that no row names, and those that may go."""

    pictures: int
    unnamed: int
    due: tuple[str, ...]  # unnamed for long enough
    withheld: bool  # because too large a share is unnamed
    deleted: int = 0
    partial: int = 0  # files of puts that were interrupted


class Postponed(Exception):
    """Pictures may not be deleted now, and so neither may the rows that name them."""


class PictureSweeper:
    """Deletes pictures that no row names, and rests `pause` seconds in between.

    `writer` is exclusive: no put can come to name a picture while it is being deleted. `owned` says
    within a transaction whether the store belongs to its catalog.
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
        """Delete what has been unnamed for long enough; nothing if that is too large a share."""
        with self._reader.begin() as connection:
            if not limits.dry and not self._owned(connection):
                return Sweep(0, 0, (), withheld=True)
        total, unnamed = self._find_unnamed()
        now, noted = int(time.time()), _unpack(self._store.read_note(NOTE))
        since = {name: min(noted.get(name, now), now) for name in unnamed}
        due = tuple(name for name, first in since.items() if now - first >= limits.seconds)
        withheld = len(unnamed) > max(LEAST, limits.share * total)
        found = Sweep(total, len(unnamed), due, withheld)
        if limits.dry:
            return found
        if withheld:
            _warn_of_withheld(found, limits)
        gone = set() if withheld else self._delete(due)
        self._note(noted, {name: since[name] for name in unnamed if name not in gone})
        partial = self._store.delete_partial(limits.seconds)
        if gone or partial:
            facts = {"pictures": total, "unnamed": len(unnamed), "deleted": len(gone)}
            log.info("pictures that no item has were deleted", extra=facts | {"partial": partial})
        return Sweep(total, len(unnamed), due, withheld, len(gone), partial)

    def delete(self, connection: Connection, names: set[str]) -> set[str]:
        """Delete those that no row names now, while no put can come to name one; gives them.

        Postponed where the store belongs to another catalog, or while pictures are kept.
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
        """How many pictures there are, and the names of those that no row names."""
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
        """Note since when pictures are unnamed, unless that is in the note already."""
        kept = dict(islice(since.items(), MOST))
        if kept.keys() != noted.keys():
            self._store.write_note(NOTE, _pack(kept))


def find_named(connection: Connection, names: Sequence[str]) -> set[str]:
    """Those of the names that some row has."""
    named = set[str]()
    for part in chunks(names):
        for column in (pictures.c.name, retired_pictures.c.name):
            named.update(connection.execute(select(column).where(column.in_(part))).scalars())
    return named


def _warn_of_withheld(found: Sweep, limits: SweepLimits) -> None:
    """Warn of a share that is due; what is new may be of an import or restore that goes on."""
    many = len(found.due) > max(LEAST, limits.share * found.pictures)
    facts = {"pictures": found.pictures, "unnamed": found.unnamed, "due": len(found.due)}
    log.log(
        logging.WARNING if many else logging.INFO,
        "%d of %d pictures have no item, more than a sweep may delete, so all are kept: make sure "
        "that this is the right database and picture store; then `tessera sweep --all` deletes "
        "them",
        found.unnamed,
        found.pictures,
        extra=facts,
    )


def _pack(since: dict[str, int]) -> bytes:
    return "".join(f"{name} {first}\n" for name, first in since.items()).encode()


def _unpack(note: bytes | None) -> dict[str, int]:
    """The times of a note; lines that are damaged begin to count again."""
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
    """No picture is deleted meanwhile, by any process of any host that uses the database."""
    if engine.dialect.name == "sqlite":
        with hold_lock(_file(engine), shared=True, wait=True):
            yield
        return
    # Without a transaction, which the server would end for being idle.
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock_shared({LOCK})")
        try:
            yield
        finally:
            connection.exec_driver_sql(f"SELECT pg_advisory_unlock_shared({LOCK})")


@contextmanager
def try_deleting(connection: Connection) -> Iterator[bool]:
    """Whether pictures may be deleted now, within a transaction that goes on until they are."""
    if connection.dialect.name == "sqlite":
        with hold_lock(_file(connection.engine)) as alone:
            yield alone
    else:
        lock = f"SELECT pg_try_advisory_xact_lock({LOCK})"
        yield bool(connection.exec_driver_sql(lock).scalar())


def _file(engine: Engine) -> Path:
    assert engine.url.database is not None, "a database that is a file"
    return Path(f"{engine.url.database}-kept")
