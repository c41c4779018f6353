"""Foreign databases: a SQLite file from elsewhere, checked before it is read.

The author of an archive also makes its checksums. A view instead of a table, or a generated
column, could make our own queries compute anything for any time.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from sqlalchemy import create_engine

from index.database import migrations

VERSION = "alembic_version"
OPERATIONS = 20_000  # of SQLite's virtual machine to read definitions: ours take 500
A_BYTE = 50  # operations a byte for the checks of a file, which are linear in its size
STEP = 1_000  # operations between counts
LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}
TOKEN = re.compile(r"""\w+|"[^"]*"|[^\s]""")

Definition = tuple[str, str, str, tuple[str, ...]]  # type, name, table, and tokens of its SQL


@contextmanager
def open_checked(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a sound database with our tables, only to read it.

    Raises ValueError with the reason for any other. Older versions' tables are accepted.
    """
    address = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection, _translate_errors():
        for limit, most in LIMITS.items():
            connection.setlimit(limit, most)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        _check_definitions(connection)
        _check_content(connection, file.stat().st_size)
        yield connection


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeError) as failed:
        raise ValueError(f"its database cannot be read: {failed}") from failed


def _check_definitions(connection: sqlite3.Connection) -> None:
    """Refuse tables and indexes that differ from those of the version."""
    with _limit_operations(connection, OPERATIONS):
        definitions = _read_definitions(connection)
        version = _read_version(connection, definitions)
    odd = set(definitions) ^ define_version(version)
    if odd:
        names = ", ".join(sorted({repr(name)[:50] for _, name, _, _ in odd})[:5])
        raise ValueError(f"its database does not have the tables of version {version}: {names}")


def _read_version(connection: sqlite3.Connection, definitions: list[Definition]) -> str | None:
    """Read the version of a database's tables.

    None for the first, which has no note of it.
    """
    ours = {
        definition for definition in define_version(migrations.FIRST) if definition[2] == VERSION
    }
    theirs = {definition for definition in definitions if VERSION in definition[1:3]}
    if not theirs:
        return None
    if theirs != ours:
        raise ValueError("its database does not say the version of its tables as ours do")
    (version,) = connection.execute(f"SELECT version_num FROM {VERSION}").fetchone() or ("",)  # noqa: S608
    if version not in migrations.versions():
        raise ValueError(migrations.refusal("sqlite", f"{version!s:.20}"))
    return str(version)


def _check_content(connection: sqlite3.Connection, size: int) -> None:
    """Refuse a database with an unsound page, row, index or reference.

    A page that is its own child would otherwise make an endless table.
    """
    with _limit_operations(connection, OPERATIONS + A_BYTE * size):
        (problem,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if problem != "ok":
            raise ValueError(f"its database is not sound: {problem}")
        loose = connection.execute("PRAGMA foreign_key_check").fetchone()
        if loose is not None:
            raise ValueError(f"its database is not sound: a row of {loose[0]} lacks its {loose[2]}")


@contextmanager
def _limit_operations(connection: sqlite3.Connection, operations: int) -> Iterator[None]:
    """Limit the operations of all statements in the block together."""
    left = iter(range(operations // STEP))
    connection.set_progress_handler(lambda: next(left, None) is None, STEP)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


@cache
def define_version(version: str | None) -> frozenset[Definition]:
    """Make the definitions of a version's tables by its migrations."""
    engine = create_engine("sqlite://")
    try:
        with engine.begin() as connection:
            migrations.upgrade(connection, None, version or migrations.FIRST)
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            definitions = _read_definitions(driver)
    finally:
        engine.dispose()
    return frozenset(
        definition for definition in definitions if version is not None or definition[2] != VERSION
    )


def _read_definitions(connection: sqlite3.Connection) -> list[Definition]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT 1000")
    return [(kind, name, table, _split_sql(sql or "")) for kind, name, table, sql in rows]


def _split_sql(sql: str) -> tuple[str, ...]:
    """Split SQL into tokens, without the spaces and quotes of SQLAlchemy's versions."""
    return tuple(token.strip('"').lower() for token in TOKEN.findall(sql))
