"""Errors of databases in our own words, for both drivers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import ExceptionContext
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from index.items import NoSpace

RESTORE = "tessera restore FILE --data NEW"
RESTORING = {
    "sqlite": f"restore a snapshot into a new folder: {RESTORE}",
    "postgresql": "restore a snapshot into an empty database, which TESSERA_DATABASE has to name "
    f"then, and a new folder: {RESTORE}",
}
FULL = "the disk is full, so nothing was stored; make room, then try again"
REFUSES = "the disk is read-only or fails, so nothing was stored; try again once it is mended"
REFUSED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
# PostgreSQL's SQLSTATEs: a transaction that lost against another one, or waited for too long.
CONTENDED = {"40001", "40P01", "55P03", "57014"}
# Lost or too many connections, memory, shutdown, and a read-only standby.
AWAY = ("08", "53200", "53300", "57P", "25006")
DISK_FULL = "53100"
LACKING = ("42703", "42P01")  # a column, a table
FORBIDDEN = "42501"
GRANT = "GRANT the service's user all rights, or name another user in TESSERA_DATABASE"
LACKS = ("no such table", "no such column", "has no column named")  # how SQLite says so


class NotReady(OSError):
    """Searches are not answered yet, or no longer."""


class Busy(OSError):
    """The database is unreachable or too slow; a retry may succeed."""


class StoreAway(Busy):
    """The picture store cannot be reached, or refuses a request."""


class DiskRefuses(Busy):
    """The disk is read-only, or fails."""


class RightsLacking(Busy):
    """The database's user may not do what a service does."""


class Damaged(OSError):
    """The catalog's file is no SQLite database, or contradicts itself."""


class Pool(QueuePool):
    """A pool of connections; raises Busy if none is free in time."""

    def connect(self) -> PoolProxiedConnection:
        """Return a connection within the pool's timeout."""
        try:
            return super().connect()
        except PoolTimeout as full:
            raise Busy(
                "all connections to the database are in use; try again in a moment"
            ) from full


def translate(context: ExceptionContext) -> Exception | None:
    """Translate a driver's error into one of ours; None keeps it."""
    return _translate(context.original_exception, context.is_disconnect)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate errors of a driver that is called without SQLAlchemy."""
    try:
        yield
    except (sqlite3.Error, psycopg.Error) as error:
        failure = _translate(error, False)
        if failure is None:
            raise
        raise failure from error


def _translate(error: BaseException, disconnected: bool) -> Exception | None:
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error)
    if isinstance(error, psycopg.Error):
        return _of_postgresql(error, disconnected)
    return None


def _of_sqlite(error: sqlite3.Error) -> Exception | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what an extended code adds
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy("another process is writing to the catalog; try again in a moment")
    if code == sqlite3.SQLITE_FULL:
        return NoSpace(FULL)
    if code in REFUSED:
        return DiskRefuses(f"{REFUSES} ({error})")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Damaged(f"the catalog is damaged, or no SQLite database ({error}); restore a backup")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
        return Busy(
            f"the disk under the catalog takes no writes, or fails ({error}); look after it"
        )
    if any(words in str(error) for words in LACKS):
        return _explain_lack(error)
    return None


def _explain_lack(error: Exception) -> Damaged:
    """Return the error for missing tables or columns."""
    why = str(error).partition("\n")[0]
    advice = RESTORING["sqlite" if isinstance(error, sqlite3.Error) else "postgresql"]
    return Damaged(f"the catalog lacks a part of its tables ({why}): {advice}")


def _of_postgresql(error: psycopg.Error, disconnected: bool) -> Exception | None:
    state = error.sqlstate or ""
    unreached = isinstance(error, psycopg.OperationalError) and not state
    if disconnected or unreached or state.startswith(AWAY):
        away = Busy("the database cannot be reached; try again in a moment")
        away.add_note(" ".join(str(error).split()))  # for operators; clients get the rest
        return away
    if state in CONTENDED:
        return Busy("other changes kept the database for too long; try again in a moment")
    if state == DISK_FULL:
        return NoSpace(FULL)
    if state in LACKING:
        return _explain_lack(error)
    if state == FORBIDDEN:
        why = str(error).partition("\n")[0]
        return RightsLacking(f"the database refuses: {why}; {GRANT}")
    if isinstance(error, psycopg.DataError) and "NUL" in str(error):
        return ValueError("text holds a NUL character (\\u0000), which PostgreSQL cannot store")
    return None
