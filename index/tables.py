"""The tables of the catalog, and how a database is opened so that nothing is lost."""

from __future__ import annotations

import secrets
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
    insert,
    inspect,
    select,
)

# Ids sort by code point everywhere, as Python sorts them (SQLite's own order already does).
IDENTIFIER = String().with_variant(String(collation="C"), "postgresql")

LAYOUT = 3  # a database whose tables have another layout is refused

schema = MetaData()

# The layout, and the secret that signs cursors in every process of a data folder.
settings = Table(
    "settings",
    schema,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

# A collection without a name is being filled to take the place of `replaces`; where that is
# empty too, the collection is garbage: nothing reads or writes it, and its rows may be deleted.
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
    Column("floor", Integer, nullable=False),  # retirements up to this revision may be deleted
    Column("replaces", ForeignKey("collections.key", ondelete="CASCADE"), unique=True),
    Column("copied", Integer, nullable=False),  # the newest change of `replaces` that is in here
    sqlite_autoincrement=True,  # a key is never used twice
)

# Other names of collections. No alias has a collection's own name: see index.names.
aliases = Table(
    "aliases",
    schema,
    Column("name", IDENTIFIER, primary_key=True),
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), nullable=False),
    Index("aliases_by_collection", "collection"),
)

# The last revision of each transaction, with a random mark: two histories that parted, as those
# of a database and its restored backup, have no mark in common from there on.
changes = Table(
    "changes",
    schema,
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("mark", String, nullable=False),
)

# Every put makes a new row with a new revision; a row never changes.
items = Table(
    "items",
    schema,
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("id", IDENTIFIER, nullable=False),
    Column("bucket", Integer, nullable=False),  # see index.items.bucket_of
    Column("metadata", Text, nullable=False),
    Column("source", Text),
    Column("stamp", Text),
    UniqueConstraint("collection", "id"),
    Index("items_by_source", "collection", "source"),
)


def _of_item() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["collection", "revision"], ["items.collection", "items.revision"], ondelete="CASCADE"
    )


# The display copy itself lies in the picture store, under `name`.
pictures = Table(
    "pictures",
    schema,
    Column("collection", Integer, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("digest", String, nullable=False),  # of the original photo
    Column("name", String, nullable=False),
    _of_item(),
    Index("pictures_by_name", "name"),
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
    Column("picture", String),  # the name of its display copy, which is kept as long as this row
    Index("retired_by_picture", "picture"),
)


def connect(url: str) -> tuple[Engine, Engine]:
    """Open a database, made if new, for reading and for writing: both see one snapshot each.

    ValueError for a database that another version of Tessera made, with another layout.
    """
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        reading = engine
    else:
        reading = engine.execution_options(isolation_level="REPEATABLE READ")
    writing = engine.execution_options(writes=True)
    try:
        with reading.begin() as connection:
            layout = _layout(connection)
        if layout is None:
            with writing.begin() as connection:
                layout = _layout(connection) or _create_tables(connection)
        if layout != LAYOUT:
            raise ValueError(
                f"the catalog {engine.url.database} was made by another version of Tessera: its "
                f"tables have layout {layout}, and this version reads layout {LAYOUT}. Index into "
                "a new data folder, or use the version that made this one"
            )
    except BaseException:
        engine.dispose()
        raise
    return reading, writing


def setting(connection: Connection, name: str) -> str:
    """What was written into the settings when the database was made."""
    value: str = connection.execute(
        select(settings.c.value).where(settings.c.name == name)
    ).scalar_one()
    return value


def _layout(connection: Connection) -> int | None:
    """The layout of the tables, None for a database without tables."""
    names = inspect(connection).get_table_names()
    if settings.name in names:
        return int(setting(connection, "layout"))
    return 1 if collections.name in names else None  # the first layout did not say which it was


def _create_tables(connection: Connection) -> int:
    schema.create_all(connection)
    written = {"layout": str(LAYOUT), "secret": secrets.token_hex(32)}
    rows = [{"name": name, "value": value} for name, value in written.items()]
    connection.execute(insert(settings), rows)
    return LAYOUT


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where SQLAlchemy says, see below
    connection.execute("PRAGMA busy_timeout = 30000")  # milliseconds; before anything that waits
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file; before its first page
    _enable_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # Bags are read in a quarter of the time where the file is mapped; SQLite maps 2 GB at most.
    connection.execute("PRAGMA mmap_size = 2147418112")


def _enable_wal(connection: Any) -> None:
    """Switch to write-ahead logging; where others switch too, SQLite does not wait, so we do."""
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
