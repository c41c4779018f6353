"""Engines: SQLite and PostgreSQL, opened durably and with limits on waiting."""

from __future__ import annotations

import math
import select
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError

from index.database import acknowledged, migrations
from index.database.acknowledged import AcknowledgedLost, CountingConnection, Marks
from index.database.addresses import check_password, describe_surroundings, hide_secrets
from index.database.errors import (
    RESTORING,
    Busy,
    Damaged,
    Pool,
    RightsLacking,
    translate,
    translate_errors,
)
from index.database.storage import WAIT, Storage
from index.database.tables import check_tables

STATEMENT = 60_000  # milliseconds that a statement of PostgreSQL may take
LOCK = 0x7E55E2A  # the number of our advisory lock in a database of PostgreSQL
LOG_BYTES = 2**26  # of SQLite's write-ahead log that stay on the disk
POSTGRESQL = "postgresql+psycopg"
DRIVERS = {"sqlite": "sqlite"} | dict.fromkeys(("postgres", "postgresql", POSTGRESQL), POSTGRESQL)
OLDEST = 15  # of PostgreSQL
UNOPENED = (
    Busy,
    Damaged,
    DBAPIError,
    sqlite3.Error,
)  # failures whose messages do not name the database


@dataclass(frozen=True, slots=True)
class Engines:
    """One database in three roles, each with transactions on one state.

    A `writer` stores and deletes items. An `exclusive` transaction runs while no other writes: it
    makes and replaces collections and deletes garbage. SQLite has one writer at a time anyway;
    with PostgreSQL, writers share an advisory lock that an exclusive transaction has alone.
    """

    reader: Engine
    writer: Engine
    exclusive: Engine

    def dispose(self) -> None:
        """Close the connections."""
        self.reader.dispose()


def url_of(database: str, folder: Path) -> URL:
    """Return a database's address: the setting, or the folder's SQLite file.

    Raises ValueError for databases other than SQLite and PostgreSQL.
    """
    if not database:
        return URL.create("sqlite", database=str(folder / "catalog.sqlite"))
    ways = "use sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/NAME"
    check_password(database)
    try:
        url = make_url(database)
    except ArgumentError as malformed:
        raise ValueError(f"the address of the database cannot be read; {ways}") from malformed
    driver = DRIVERS.get(url.drivername)
    if driver is None:
        raise ValueError(f"there is no support for databases of {url.drivername}; {ways}")
    if not url.database:
        raise ValueError(f"the address of the database names none; {ways}")
    return url.set(drivername=driver)


def file_of(url: URL) -> Path | None:
    """Return the file of an SQLite database; None for others."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def accept_loss(storage: Storage) -> None:
    """Accept an SQLite database that lacks acknowledged changes."""
    if file := file_of(url_of(storage.database, storage.folder)):
        acknowledged.accept(file, storage.wait)


def connect(url: str | URL, wait: float = WAIT) -> Engines:
    """Open a database; its tables are made if there are none.

    An older catalog in SQLite is migrated. In PostgreSQL that is left to `migrate`, because other
    hosts may use it. Raises ValueError for a database that this version cannot use, OSError for one
    that cannot be opened; both say what to do.
    """
    with _open(url, wait) as engines:
        with engines.reader.begin() as connection:
            _check_server(connection)
            version = migrations.version_of(connection)
        if version is None or engines.reader.dialect.name == "sqlite":
            _upgrade(engines)
        elif version != migrations.newest():
            raise ValueError(migrations.refusal(engines.reader.dialect.name, version))
        if version is not None:  # they may be damaged
            with engines.reader.begin() as connection:
                check_tables(connection)
        return engines


@contextmanager
def look(storage: Storage) -> Iterator[Connection]:
    """Yield a reading connection; no tables are made or migrated."""
    with _open(url_of(storage.database, storage.folder), storage.wait) as engines:
        try:
            with engines.reader.begin() as connection:
                yield connection
        finally:
            engines.dispose()


def migrate(storage: Storage) -> tuple[str | None, str]:
    """Migrate a database to the newest version; return both versions.

    Waits for writing transactions, and they wait for it. A service that knows older tables writes
    nothing from then on. Raises the errors of `connect`.
    """
    with _open(url_of(storage.database, storage.folder), storage.wait) as engines:
        previous = _upgrade(engines)
        engines.dispose()
    return previous, migrations.newest()


@contextmanager
def _open(url: str | URL, wait: float) -> Iterator[Engines]:
    """Yield engines of a database; they are closed if the block fails."""
    engines = _make_engines(make_url(url), wait)
    try:
        if file := file_of(make_url(url)):
            with translate_errors():
                acknowledged.check(file, wait)
        yield engines
    except BaseException as failed:
        engines.dispose()
        if isinstance(failed, AcknowledgedLost) or not isinstance(failed, UNOPENED):
            raise
        kind = type(failed) if isinstance(failed, Busy | Damaged) else OSError
        # Some say what to do; for others the driver's message says more.
        advises = isinstance(failed, Damaged | RightsLacking)
        cause = failed if advises else failed.__cause__ or failed
        why = " ".join(str(cause).split()) + describe_surroundings(make_url(url))
        raise kind(
            f"the database {hide_secrets(make_url(url))} cannot be opened: {why}"
        ) from failed


def _make_engines(url: URL, wait: float) -> Engines:
    options: dict[str, Any] = {"poolclass": Pool, "pool_timeout": wait}
    options["hide_parameters"] = True  # or secrets would be in messages of errors
    if url.get_backend_name() == "sqlite":
        counting = {"factory": CountingConnection}
        engine = create_engine(url, pool_size=8, max_overflow=64, connect_args=counting, **options)
        file = file_of(url)
        event.listen(engine, "connect", _prepare_sqlite(wait, file))
        event.listen(engine, "begin", _begin_sqlite)
        reader = engine
    else:
        engine = create_engine(url, connect_args=_libpq(wait), **options)
        event.listen(engine, "connect", _prepare_postgresql(wait))
        event.listen(engine, "checkout", _check_unbroken)
        event.listen(engine, "begin", _begin_postgresql)
        reader = engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
    event.listen(engine, "handle_error", translate, retval=True)
    writer = engine.execution_options(writes="shared")
    return Engines(reader, writer, engine.execution_options(writes="exclusive"))


def _upgrade(engines: Engines) -> str | None:
    """Migrate under the exclusive lock, without a limit of time."""
    migrating = engines.exclusive.execution_options(migrates=True)
    with migrating.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        version = migrations.version_of(connection)
        if version != migrations.newest():
            try:
                migrations.upgrade(connection, version)
            except DBAPIError as failed:  # tables that are not those of the version
                why = str(failed.orig).partition("\n")[0]
                advice = RESTORING[connection.dialect.name]
                raise Damaged(
                    f"its tables are not of version {version} ({why}): {advice}"
                ) from failed
    return version


def _check_server(connection: Connection) -> None:
    """Refuse an old PostgreSQL, or a database whose text is not Unicode."""
    if connection.dialect.name != "postgresql":
        return
    number = connection.exec_driver_sql("SHOW server_version_num").scalar()
    if int(number or 0) < 10_000 * OLDEST:
        raise ValueError(f"PostgreSQL {OLDEST} or newer is needed; the server's is {number}")
    if not connection.exec_driver_sql("SELECT getdatabaseencoding() = 'UTF8'").scalar():
        raise ValueError(
            "the database does not store text as UTF-8; make one with CREATE DATABASE tessera "
            "ENCODING 'UTF8' TEMPLATE template0"
        )


def _check_version(connection: Connection) -> None:
    """Refuse to write into tables that a newer version has migrated meanwhile."""
    if connection.get_execution_options().get("migrates"):
        return
    version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if version != migrations.newest():
        raise Busy(
            f"the database was migrated to version {version} while this service was running: "
            "restart it with the version of Tessera that did so"
        )


def _begin_postgresql(connection: Connection) -> None:
    lock = {"shared": "pg_advisory_xact_lock_shared", "exclusive": "pg_advisory_xact_lock"}
    writes = connection.get_execution_options().get("writes")
    if writes:
        connection.exec_driver_sql(f"SELECT {lock[writes]}({LOCK})")
        _check_version(connection)


def _libpq(wait: float) -> dict[str, Any]:
    """Return options that detect a silently lost server soon."""
    return {
        "connect_timeout": max(2, math.ceil(wait)),  # seconds; libpq takes no less
        "keepalives_idle": 30,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "application_name": "tessera",
        "client_encoding": "utf8",
    }


def _prepare_postgresql(wait: float) -> Callable[[Any, object], None]:
    def prepare(connection: Any, _record: object) -> None:
        connection.execute(f"SET lock_timeout = {round(1000 * wait)}")
        connection.execute(f"SET statement_timeout = {STATEMENT}")
        connection.execute(f"SET idle_in_transaction_session_timeout = {10 * STATEMENT}")
        connection.commit()

    return prepare


def _check_unbroken(connection: Any, _record: object, _proxy: object) -> None:
    """Test a connection before it is used again, if the server has sent or ended anything.

    A server that ends says so to idle connections, so silent ones need no question.
    """
    try:
        waiting = select.poll()
        waiting.register(connection.fileno(), select.POLLIN)
        if waiting.poll(0):
            connection.execute("SELECT 1")
            connection.rollback()
    except psycopg.OperationalError as broken:
        raise InvalidatePoolError from broken


def _prepare_sqlite(wait: float, file: Path | None) -> Callable[[Any, object], None]:
    marks = Marks(file) if file else None

    def prepare(connection: Any, _record: object) -> None:
        connection.marks = marks
        connection.isolation_level = None  # SQLAlchemy begins transactions, see below
        # Milliseconds; before anything that waits.
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * wait)}")
        # Only in a new file, before its first page; in others this would wait for the writer.
        if not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            if file:  # its secret signs sessions; another user's file stays as it is
                with suppress(PermissionError):
                    file.chmod(0o600)
        _enable_wal(connection, wait)
        connection.execute("PRAGMA synchronous = FULL")
        # A log that a long reader let grow is cut back at the next checkpoint.
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        connection.execute("PRAGMA foreign_keys = ON")
        # A file from elsewhere may define computations; none of our tables does.
        connection.execute("PRAGMA trusted_schema = OFF")
        # Text of a damaged page may not be UTF-8; index.database.checksums detects the damage.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        # Bags are read in a quarter of the time where the file is mapped; SQLite maps 2 GB at most.
        connection.execute("PRAGMA mmap_size = 2147418112")

    return prepare


def _enable_wal(connection: Any, wait: float) -> None:
    """Switch to write-ahead logging; retry, as SQLite does not wait."""
    deadline = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as failed:
            busy = failed.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # A writer locks at once: a reader that became a writer half-way could only fail.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    if writes:
        _check_version(connection)
        connection.connection.dbapi_connection.begin_writing()  # type: ignore[union-attr]
