"""The tables of the catalog, as the newest of index.database.migrations leaves them."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Connection,
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
    false,
    select,
    text,
)

from index.database.errors import RESTORING, Damaged, RightsLacking

# Ids sort by code point everywhere, as Python sorts them (SQLite's own order already does).
IDENTIFIER = String().with_variant(String(collation="C"), "postgresql")

schema = MetaData()

# The secret that signs cursors in every process, and a layout that versions from before migrations
# read: they refuse this one. Also what re-embeddings keep: see index.catalog.names.
settings = Table(
    "settings",
    schema,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)

# A collection without a name is being filled to replace `replaces`; if that is
# empty too, the collection is garbage: nothing reads or writes it, and its rows may be deleted.
collections = Table(
    "collections",
    schema,
    Column("key", Integer, primary_key=True),
    Column("token", String, nullable=False),
    Column("name", IDENTIFIER, unique=True),
    Column("fingerprint", String, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("score", String, nullable=False),
    Column("revision", Integer, nullable=False),  # the newest change
    Column("floor", Integer, nullable=False),  # retirements up to this revision may be deleted
    Column("replaces", ForeignKey("collections.key", ondelete="CASCADE"), unique=True),
    Column("copied", Integer, nullable=False),  # the newest change of `replaces` that is in here
    sqlite_autoincrement=True,  # a key is never used twice
)

# Other names of collections. No alias has a collection's own name: see index.catalog.names.
aliases = Table(
    "aliases",
    schema,
    Column("name", IDENTIFIER, primary_key=True),
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), nullable=False),
    Index("aliases_by_collection", "collection"),
)

# The last revision of each transaction, with a random mark. Two histories that diverge, such as
# those of a database and its restored backup, have no common mark from there on.
changes = Table(
    "changes",
    schema,
    Column("collection", ForeignKey("collections.key", ondelete="CASCADE"), primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("mark", String, nullable=False),
    Column("kept", Integer),  # seconds since 1970: when a segment was last known to need the mark
)

# Every put makes a new row with a new revision; rows never change, except to add checksums, and
# for the stamp of one whose file is to be read again.
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
    Column(
        "checksums", LargeBinary
    ),  # see index.database.checksums; null in rows of an older version
    UniqueConstraint("collection", "id"),
    Index("items_by_source", "collection", "source").ddl_if(dialect="sqlite"),
    # Paths may be longer than an entry of a B-tree.
    Index("items_by_hash", "source", postgresql_using="hash").ddl_if(dialect="postgresql"),
)


def _of_item() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["collection", "revision"], ["items.collection", "items.revision"], ondelete="CASCADE"
    )


# The display copy itself is in the picture store, under `name`. `position` is its bag's.
pictures = Table(
    "pictures",
    schema,
    Column("collection", Integer, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("digest", String, nullable=False),  # of the original photo
    Column("name", String, nullable=False),
    _of_item(),
    Index("pictures_by_name", "name"),
)

# The item's photos have the positions -1, -2 and so on; a sentence's position is its place among
# the item's sentences, from 0.
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

# The names of its display copies, which are kept as long as these rows.
retired_pictures = Table(
    "retired_pictures",
    schema,
    Column("collection", Integer, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("name", String, primary_key=True),
    ForeignKeyConstraint(
        ["collection", "revision"], ["retired.collection", "retired.revision"], ondelete="CASCADE"
    ),
    Index("retired_pictures_by_name", "name"),
)


def setting(connection: Connection, name: str) -> str:
    """Read a setting written along with the tables; Damaged without it."""
    value: str | None = connection.execute(
        select(settings.c.value).where(settings.c.name == name)
    ).scalar_one_or_none()
    if not value:
        advice = RESTORING[connection.dialect.name]
        raise Damaged(f"the table of settings in the catalog has no {name}: {advice}")
    return value


NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE")
_LACKING = text(
    "SELECT name FROM unnest(CAST(:names AS text[])) name, unnest(CAST(:rights AS text[])) needed "
    "WHERE NOT has_table_privilege(name, needed) UNION "
    "SELECT relname FROM unnest(CAST(:names AS text[])) name "
    "JOIN pg_depend ON refobjid = to_regclass(name) AND deptype IN ('a', 'i') "
    "JOIN pg_class ON pg_class.oid = objid WHERE CASE WHEN relkind = 'S' "
    "THEN NOT has_sequence_privilege(pg_class.oid, 'USAGE') ELSE false END ORDER BY 1"
)


def check_rights(connection: Connection) -> None:
    """Raise RightsLacking if PostgreSQL's user may not read and write all tables."""
    if connection.dialect.name != "postgresql":
        return
    asked = {"names": [table.name for table in schema.sorted_tables], "rights": [*NEEDED]}
    if lacking := connection.execute(_LACKING, asked).scalars().all():
        raise RightsLacking(
            f"the database's user lacks rights on {', '.join(lacking)}: GRANT it "
            f"{', '.join(NEEDED)} on all tables and USAGE on all sequences, or name another user "
            "in TESSERA_DATABASE"
        )


def check_tables(connection: Connection) -> None:
    """Raise Damaged, or a driver's error, for missing tables or columns."""
    for table in schema.sorted_tables:
        connection.execute(select(table).where(false()))
