"""Acknowledged commits of an SQLite file, counted in a second file.

SQLite ends its recovery at the first damaged frame of the write-ahead log, and says nothing
about later transactions. So every commit counts itself in the database, and is noted, once it
is on disk, in a file next to it. If the file has the higher number, commits are lost.

The file is written without fsync, which would double the time of a commit: killed processes lose
nothing of it, and after a power cut it may lack the last half minute. It is never ahead of what
SQLite has brought to the disk.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import sqlite3
import struct
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

import xxhash

from index.database.errors import Damaged
from index.disk import sync

RECORD = struct.Struct("<8s16sQ")  # magic, catalog, and its commits; a checksum follows
MAGIC = b"tessera1"
SIZE = RECORD.size + 8
COUNT = (
    "UPDATE settings SET value = CAST(value AS INTEGER) + 1 WHERE name = 'commits' RETURNING value"
)
STATE = "SELECT name, value FROM settings WHERE name IN ('commits', 'secret')"
WAYS = (
    "restore a snapshot (tessera restore FILE --force), or put the files back, or accept it once "
    "with `tessera check --accept-loss`"
)

log = logging.getLogger(__name__)


class AcknowledgedLost(Damaged):
    """Changes that the catalog acknowledged are lost."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The number of commits that a catalog has acknowledged."""

    catalog: bytes  # a digest of its secret
    commits: int


class Marks:
    """The mark file of one SQLite database.

    For many threads and processes.
    """

    def __init__(self, database: Path) -> None:
        self._path = path_of(database)
        self._lock = Lock()
        self._failed = False

    def read(self) -> Mark | None:
        """Read the mark; None if it is missing or damaged."""
        try:
            return _unpack(self._path.read_bytes())
        except FileNotFoundError:
            return None

    def note(self, mark: Mark) -> None:
        """Note commits on disk.

        A failure is only logged, as they are on disk.
        """
        try:
            with self._lock:
                self._write(mark)
        except OSError as failed:
            if not self._failed:
                log.warning("acknowledged changes cannot be counted in %s: %s", self._path, failed)
            self._failed = True

    def _write(self, mark: Mark) -> None:
        new = not self._path.exists()
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # other processes acknowledge, too
            noted = _unpack(os.pread(handle, SIZE, 0))
            if noted and noted.catalog == mark.catalog and noted.commits >= mark.commits:
                return
            os.pwrite(handle, _pack(mark), 0)
            if new:
                os.fsync(handle)
                sync(self._path.parent)
        finally:
            os.close(handle)


class CountingConnection(sqlite3.Connection):
    """A connection with counted commits, noted once they are on disk."""

    marks: Marks | None = None
    _changes: int | None = None  # total_changes when a writing transaction began

    def begin_writing(self) -> None:
        """Count the transaction that has begun, if it changes anything."""
        self._changes = self.total_changes

    def commit(self) -> None:
        """Commit, and note that it is on disk."""
        mark = self._count() if self._changes not in (None, self.total_changes) else None
        self._changes = None
        super().commit()
        if mark is not None and self.marks is not None:
            self.marks.note(mark)

    def rollback(self) -> None:
        """Roll back; the transaction is not counted."""
        self._changes = None
        super().rollback()

    def _count(self) -> Mark | None:
        if not self.execute(COUNT).fetchall():
            return None
        return _state(self)


def path_of(database: Path) -> Path:
    """Return the path of the file with an SQLite file's mark."""
    return database.with_name(f"{database.name}-acknowledged")


def check(database: Path, wait: float) -> None:
    """Raise AcknowledgedLost if a database lacks acknowledged commits.

    Opens it read-only, so that a damaged log stays as evidence.
    """
    mark = Marks(database).read()  # first: a commit from now on is noted later
    if mark is None:
        return
    state = _read_state(database, wait)
    if state is None:
        raise AcknowledgedLost(
            f"{database} is gone or empty, and {mark.commits:,} changes were acknowledged: {WAYS}"
        )
    if state.catalog != mark.catalog:
        raise AcknowledgedLost(
            f"{database} is another catalog than the one whose changes were acknowledged here: "
            f"{WAYS}"
        )
    if state.commits < mark.commits:
        raise AcknowledgedLost(
            f"{mark.commits - state.commits:,} acknowledged changes of {mark.commits:,} are gone "
            f"from {database}, or from its write-ahead log: {WAYS}"
        )


def accept(database: Path, wait: float) -> None:
    """Accept a database as it is; copy a damaged log before."""
    try:
        check(database, wait)
    except AcknowledgedLost as lost:
        log.warning("accepted: %s", lost)
    except sqlite3.Error:  # whoever opens it next says why it cannot be read
        return
    else:
        return
    log_file = database.with_name(f"{database.name}-wal")
    if log_file.exists() and log_file.stat().st_size:
        shutil.copy2(log_file, log_file.with_name(f"{log_file.name}-damaged"))
    path_of(database).unlink(missing_ok=True)


def _read_state(database: Path, wait: float) -> Mark | None:
    """Read a database's own count of commits.

    None if it or its tables are missing.
    A file that cannot be read raises its error when it is opened next.
    """
    if not database.exists() or not database.stat().st_size:
        return None
    address = f"file:{quote(str(database.absolute()))}?mode=ro"
    with closing(sqlite3.connect(address, timeout=wait, uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'settings'")
        return _state(connection) if tables.fetchall() else None


def _state(connection: sqlite3.Connection) -> Mark:
    values: dict[str, Any] = dict(connection.execute(STATE).fetchall())
    secret = str(values.get("secret", "")).encode()
    return Mark(xxhash.xxh3_128_digest(secret), int(values.get("commits", 0)))


def _pack(mark: Mark) -> bytes:
    record = RECORD.pack(MAGIC, mark.catalog, mark.commits)
    return record + xxhash.xxh3_64_digest(record)


def _unpack(record: bytes) -> Mark | None:
    content, checksum = record[: RECORD.size], record[RECORD.size : SIZE]
    if len(record) < SIZE or xxhash.xxh3_64_digest(content) != checksum:
        return None
    magic, catalog, commits = RECORD.unpack(content)
    return Mark(catalog, commits) if magic == MAGIC else None
