"""Transfer: copies of live rows from one catalog to another database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from index.catalog.write_rows import insert_rows
from index.database import curation, deleted_photos, webhooks
from index.database.tables import (
    bags,
    changes,
    collections,
    facets,
    items,
    pictures,
    retired,
    retired_pictures,
    schema,
    settings,
)
from index.progress import Progress

CONTENTS = (
    items,
    pictures,
    bags,
    facets,
    changes,
    retired,
    retired_pictures,
)  # of collections, swept with them
ROWS = 500  # rows that are read and written at a time; those of bags have some 10 KB
in_use = collections.c.name.is_not(None) | collections.c.replaces.is_not(None)


def transfer(source: Connection, target: Connection, progress: Progress) -> None:
    """Copy all live rows between databases, in a transaction of each.

    Collections get new keys and tokens, so that segments of the source's, or of others with
    the same names, are not used for them. The settings stay, and with them the secret of cursors;
    synonyms, pinned items, deletions of photos and webhooks are replaced.
    """
    curation.transfer(source, target)
    deleted_photos.transfer(source, target)
    webhooks.transfer(source, target)
    keys = _add_collections(source, target)
    # Replaced items keep their pictures only for readers during the change.
    excluded = (settings, collections, retired_pictures)
    tables = [table for table in schema.sorted_tables if table not in excluded]
    for table in tables:
        condition = table.c.collection.in_(keys)
        total = source.execute(
            select(func.count()).select_from(table).where(condition)
        ).scalar_one()
        count = 0
        progress(table.name, count, total)
        for rows in _read(source, table, keys):
            insert_rows(target, table, rows)
            count += len(rows)
            progress(table.name, count, total)


def discard_all(connection: Connection) -> None:
    """Make every collection garbage; delete other rows of collections now.

    A sweep deletes the garbage.
    """
    connection.execute(update(collections).values(name=None, replaces=None))
    for table in schema.sorted_tables:
        if table not in (settings, collections, *CONTENTS):
            connection.execute(delete(table))


def _add_collections(source: Connection, target: Connection) -> dict[int, int]:
    """Add live collections; return their new keys by the old ones."""
    keys: dict[int, int] = {}
    chosen = select(collections).where(in_use).order_by(collections.c.key)
    for row in source.execute(chosen).mappings().all():
        values = {name: value for name, value in row.items() if name != collections.c.key.name}
        values |= {"token": uuid4().hex, "replaces": keys.get(row["replaces"])}
        added = insert(collections).returning(collections.c.key)
        keys[row["key"]] = target.execute(added, values).scalar_one()
    return keys


def _read(source: Connection, table: Table, keys: dict[int, int]) -> Iterator[list[dict[str, Any]]]:
    """Read the rows of live collections with the target's keys."""
    for key, new in keys.items():
        chosen = select(table).where(table.c.collection == key).order_by(*table.primary_key)
        with source.execute(chosen, execution_options={"yield_per": ROWS}) as stream:
            for part in stream.mappings().partitions():
                yield [{**row, "collection": new} for row in part]
