"""Other places and metadata of items with the same photos.

They embed nothing: bags and pictures are copied, as in index.catalog.edits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from index.catalog.catalog import Catalog
from index.catalog.names import check_standing
from index.catalog.pictures import name_of
from index.catalog.read_rows import StoredItemRow, rows_of
from index.catalog.revisions import advance, hold
from index.catalog.write_rows import Record, record_change, write
from index.items import Collection, Item, Picture, check_size
from index.metadata import check_values


@dataclass(frozen=True, slots=True)
class Restatement:
    """The new place, stamp and metadata of an item.

    They are stored if it is still as it was read. With `pictures`, only if its display copies are
    these.
    """

    item: Item
    source: str
    stamp: str | None
    metadata: Mapping[str, Any]
    pictures: tuple[Picture, ...] | None = None


def restate(
    catalog: Catalog, collection: Collection, changes: Sequence[Restatement], name: str
) -> list[bool]:
    """Store changes of different items in one transaction.

    Returns which are stored. The others have changed since, or have other pictures. Raises
    ValueError for invalid metadata, and Replaced unless the name stands for the collection.
    """
    for change in changes:
        check_values(change.metadata)
        check_size(
            change.item.id, change.metadata, change.item.sentences, catalog.storage.item_text
        )
    with catalog.storing({}) as connection:
        check_standing(connection, name, collection)
        hold(connection, collection)
        rows = _read_rows(connection, collection, changes)
        made = [_make_record(connection, collection, rows, change) for change in changes]
        if records := [record for record in made if record is not None]:
            last = advance(connection, collection, len(records))
            write(connection, collection.key, last - len(records) + 1, records)
    if records:
        catalog.acknowledge(collection, last)
    return [record is not None for record in made]


def _read_rows(
    connection: Connection, collection: Collection, changes: Sequence[Restatement]
) -> dict[str, StoredItemRow]:
    """Read the rows of items by id."""
    ids = [change.item.id for change in changes]
    return {row.id: row for row in rows_of(connection, collection.key, ids)}


def _make_record(
    connection: Connection,
    collection: Collection,
    rows: Mapping[str, StoredItemRow],
    change: Restatement,
) -> Record | None:
    """Make the rows of a changed item; None unless as read."""
    row = rows.get(change.item.id)
    if row is None or row.revision != change.item.revision:
        return None
    record = record_change(connection, collection.key, row, change.metadata)
    shown = [picture["name"] for picture in record.pictures]
    if change.pictures is not None and shown != [name_of(p.jpeg) for p in change.pictures]:
        return None
    record.item.update(source=change.source, stamp=change.stamp)
    return record
