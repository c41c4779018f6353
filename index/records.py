"""How an entry is written to the tables and read back; every function works in a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select

from index.bags import IMAGE, pack_details, pack_vectors, unpack_bag, unpack_vectors
from index.facets import facets_of
from index.items import Collection, Entry, Item, Picture, metadata_text
from index.tables import bags, facets, items, pictures, retired
from models.types import FragmentBag


def write_entry(connection: Connection, collection: int, revision: int, entry: Entry) -> None:
    """Put an entry under a new revision; the item it replaces, if any, is retired."""
    retire(connection, collection, revision, entry.id)
    key = {"collection": collection, "revision": revision}
    connection.execute(
        insert(items),
        key
        | {"id": entry.id, "metadata": metadata_text(entry.metadata)}
        | {"source": entry.source, "stamp": entry.stamp},
    )
    connection.execute(insert(bags), [key | row for row in _bag_rows(entry)])
    found = [key | {"key": name, "value": value} for name, value in facets_of(entry.metadata)]
    if found:
        connection.execute(insert(facets), found)
    if entry.picture is not None:
        connection.execute(insert(pictures), key | _picture_row(entry.picture))


def retire(connection: Connection, collection: int, revision: int, item: str) -> bool:
    """Take an item out and note that `revision` did it; False where there is none."""
    here = (items.c.collection == collection) & (items.c.id == item)
    was = connection.execute(select(items.c.revision).where(here)).scalar()
    if was is None:
        return False
    connection.execute(
        insert(retired),
        {"collection": collection, "revision": revision, "was": was, "id": item},
    )
    connection.execute(delete(items).where(here))
    return True


def _bag_rows(entry: Entry) -> list[dict[str, Any]]:
    numbered: list[tuple[int, str | None, FragmentBag]] = [
        (position, text, bag)
        for position, (text, bag) in enumerate(zip(entry.sentences, entry.bags, strict=True))
    ]
    if entry.image is not None:
        numbered.append((IMAGE, None, entry.image))
    return [
        {
            "position": position,
            "text": text,
            "details": pack_details(bag),
            "vectors": pack_vectors(bag),
        }
        for position, text, bag in numbered
    ]


def _picture_row(picture: Picture) -> dict[str, Any]:
    return {
        "width": picture.width,
        "height": picture.height,
        "digest": picture.digest,
        "jpeg": picture.jpeg,
    }


def select_items(collection: int) -> Select[Any]:
    """Items with the size of their pictures, but without the bytes."""
    size = (pictures.c.width, pictures.c.height, pictures.c.digest)
    return (
        select(items, *size).outerjoin_from(items, pictures).where(items.c.collection == collection)
    )


def read_items(connection: Connection, collection: int, rows: Sequence[Row[Any]]) -> list[Item]:
    """Rows of select_items as items, with their sentences."""
    of: dict[int, list[str]] = {row.revision: [] for row in rows}
    sentences = (
        select(bags.c.revision, bags.c.text)
        .where(bags.c.collection == collection, bags.c.revision.in_(of), bags.c.position != IMAGE)
        .order_by(bags.c.revision, bags.c.position)
    )
    for revision, text in connection.execute(sentences):
        of[revision].append(text)
    return [
        Item(
            id=row.id,
            revision=row.revision,
            metadata=json.loads(row.metadata),
            source=row.source,
            stamp=row.stamp,
            sentences=tuple(of[row.revision]),
            width=row.width or 0,
            height=row.height or 0,
            digest=row.digest,
        )
        for row in rows
    ]


def read_entries(
    connection: Connection, collection: Collection, rows: Sequence[Row[Any]]
) -> list[Entry]:
    """Rows of select_items as whole entries: pictures and bags too."""
    return [
        _entry(connection, collection, item)
        for item in read_items(connection, collection.key, rows)
    ]


def _entry(connection: Connection, collection: Collection, item: Item) -> Entry:
    found = {
        row.position: unpack_bag(
            unpack_vectors(row.vectors, collection.dimension), row.details, row.position
        )
        for row in connection.execute(
            select(bags).where(
                bags.c.collection == collection.key, bags.c.revision == item.revision
            )
        )
    }
    return Entry(
        id=item.id,
        metadata=item.metadata,
        picture=read_picture(connection, collection.key, item.revision),
        image=found.get(IMAGE),
        sentences=item.sentences,
        bags=tuple(found[position] for position in range(len(item.sentences))),
        source=item.source,
        stamp=item.stamp,
    )


def read_picture(connection: Connection, collection: int, revision: int) -> Picture | None:
    """The picture of an item's revision."""
    here = (pictures.c.collection == collection) & (pictures.c.revision == revision)
    row = connection.execute(select(pictures).where(here)).one_or_none()
    return None if row is None else Picture(row.jpeg, row.width, row.height, row.digest)


def check_dimension(collection: Collection, entries: Iterable[Entry]) -> None:
    """Refuse bags of another dimension than the collection's."""
    for entry in entries:
        for bag in (entry.image, *entry.bags):
            if bag is not None and bag.vectors.shape[1] != collection.dimension:
                raise ValueError(
                    f"item {entry.id!r} has vectors of {bag.vectors.shape[1]} numbers; "
                    f"collection {collection.name!r} holds vectors of {collection.dimension}"
                )
