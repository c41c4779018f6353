"""Which tables hold the truth, and how a database is opened so that nothing is lost."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
)

# Ids sort by code point everywhere, as Python sorts them (SQLite's own order already does).
IDENTIFIER = String().with_variant(String(collation="C"), "postgresql")

schema = MetaData()

# A collection without a name is being re-embedded, and will take the place of `replaces`.
collections = Table(
    "collections",
    schema,
    Column("key", Integer, primary_key=True),
    Column("token", String, nullable=False),
    Column("name", String, unique=True),
    Column("fingerprint", String, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("score", String, nullable=False),
    Column("revision", Integer, nullable=False),  # the newest change
    Column("replaces", ForeignKey("collections.key", ondelete="CASCADE"), unique=True),
    Column("copied", Integer, nullable=False),  # the newest change of `replaces` that is in here
    sqlite_autoincrement=True,  # a key is never used twice
)

# Every put makes a new row with a new revision; a row never changes.
items = Table(
    "items",
    schema,
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("id", IDENTIFIER, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("source", Text),
    Column("stamp", Text),
    UniqueConstraint("collection", "id"),
)


def _of_item() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["collection", "revision"], ["items.collection", "items.revision"], ondelete="CASCADE"
    )


pictures = Table(
    "pictures",
    schema,
    Column("collection", Integer, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("digest", String, nullable=False),
    Column("jpeg", LargeBinary, nullable=False),
    _of_item(),
)

# Position -1 is the image; a sentence's position is its place among the item's sentences.
bags = Table(
    "bags",
    schema,
    Column("collection", Integer, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("text", Text),
    Column("details", LargeBinary, nullable=False),  # labels and places, see index.bags
    Column("vectors", LargeBinary, nullable=False),  # (F, D) float32, little-endian
    _of_item(),
)

# The metadata's top-level values, one row each, so that a filter is an indexed look-up.
facets = Table(
    "facets",
    schema,
    Column("collection", Integer, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    _of_item(),
    Index("facets_by_value", "collection", "key", "value", "revision"),
)

# `was` stopped being an item's revision at `revision`: it was replaced or deleted.
retired = Table(
    "retired",
    schema,
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("was", Integer, nullable=False),
    Column("id", IDENTIFIER, nullable=False),
)


def connect(url: str) -> tuple[Engine, Engine]:
    """Open a database, made if new, for reading and for writing: both see one snapshot each."""
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        reading = engine
    else:
        reading = engine.execution_options(isolation_level="REPEATABLE READ")
    writing = engine.execution_options(writes=True)
    with writing.begin() as connection:
        schema.create_all(connection)
    return reading, writing


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says, see below
    connection.execute("PRAGMA busy_timeout = 30000")  # milliseconds; before anything that waits
    _keep_a_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _keep_a_log(connection: Any) -> None:
    """Switch to write-ahead logging; where others switch too, SQLite waits for nobody, so we do."""
    deadline = time.monotonic() + 30
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its turn at once: a reader that turns writer half-way could only fail.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
