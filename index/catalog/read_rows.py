"""Rows of the tables as items: read within a transaction, whole or without their bags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from index.bags import IMAGE, position_of, unpack_bag, unpack_vectors
from index.database.checksums import LOG, ItemDamaged, is_sound_bag, is_sound_item
from index.items import Collection, Entry, Item, Picture, Shown, check_id
from index.metadata import read_metadata
from index.catalog.pictures import PictureLost, Pictures
from index.catalog.revisions import live, state_of
from index.database.tables import bags, items, pictures
from models.types import FragmentBag

CHUNK = 500  # ids or revisions in one statement
Values = dict[str, Any]


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Values, as many at a time as one statement takes."""
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


def picture_rows(
    connection: Connection, collection: int, revisions: Sequence[int]
) -> dict[int, list[Values]]:
    """The rows of pictures of items by revision, in the order of their photos."""
    by_revision: dict[int, list[Values]] = {revision: [] for revision in revisions}
    columns = [column for column in pictures.c if column is not pictures.c.collection]
    for part in chunks(revisions):
        condition = (pictures.c.collection == collection) & pictures.c.revision.in_(part)
        chosen = select(*columns).where(condition).order_by(pictures.c.position.desc())
        for row in connection.execute(chosen).mappings():
            values = dict(row)
            by_revision[values.pop("revision")].append(values)
    return by_revision


def select_items(collection: int) -> Select[Any]:
    """The items of a collection."""
    return select(items).where(items.c.collection == live(collection))


def row_of(connection: Connection, collection: Collection, item: str) -> Row[Any]:
    """An item's row; LookupError for an unknown id, Replaced as state_of."""
    check_id(item)
    statement = select_items(collection.key).where(items.c.id == item)
    row = connection.execute(statement).one_or_none()
    if row is None:
        state_of(connection, collection)
        raise unknown(collection, item)
    return row


def unknown(collection: Collection, item: str) -> LookupError:
    """The error of asking for an item that is not there."""
    return LookupError(f"no item {item!r:.220} in collection {collection.name!r}")


def read_items(
    connection: Connection,
    collection: int,
    rows: Sequence[Row[Any]],
    damaged: set[str] | None = None,
) -> list[Item]:
    """Rows of items as values, with their sentences and photos.

    ItemDamaged for one that is not as it was stored; with `damaged` it is left out instead, and
    its id is added there.
    """
    texts = _texts(connection, collection, [row.revision for row in rows])
    shown = picture_rows(connection, collection, list(texts))
    read: list[Item] = []
    for row in rows:
        try:
            read.append(_item(row, shown[row.revision], texts[row.revision]))
        except ItemDamaged:
            if damaged is None:
                raise
            LOG.add(collection, row.revision, row.id)
            damaged.add(row.id)
    return read


def _texts(
    connection: Connection, collection: int, revisions: Sequence[int]
) -> dict[int, list[str]]:
    """The sentences of items by revision."""
    texts: dict[int, list[str]] = {revision: [] for revision in revisions}
    for part in chunks(list(texts)):
        sentences = (
            select(bags.c.revision, bags.c.text)
            .where(bags.c.collection == collection, bags.c.revision.in_(part))
            .where(bags.c.position > IMAGE)
            .order_by(bags.c.revision, bags.c.position)
        )
        for revision, text in connection.execute(sentences):
            texts[revision].append(text)
    return texts


def _item(row: Row[Any], pictures: Sequence[Values], texts: Sequence[str]) -> Item:
    if not is_sound_item(row._mapping, pictures, texts):
        raise ItemDamaged(row.id)
    try:
        metadata, notes = read_metadata(row.metadata)
    except (ValueError, TypeError) as broken:  # a row without checksums
        raise ItemDamaged(row.id) from broken
    return Item(
        id=row.id,
        revision=row.revision,
        metadata=metadata,
        source=row.source,
        stamp=row.stamp,
        sentences=tuple(texts),
        photos=tuple(
            Shown(picture["width"], picture["height"], picture["digest"]) for picture in pictures
        ),
        notes=notes,
    )


def check_bag(item: Row[Any], bag: Row[Any]) -> None:
    """ItemDamaged for a bag of an item that is not as it was stored."""
    place = (bag.revision, bag.position, bag.details, bag.vectors)
    if not is_sound_bag(item.checksums, item.id, *place):
        raise ItemDamaged(item.id)


def read_entries(
    connection: Connection, collection: Collection, rows: Sequence[Row[Any]], store: Pictures
) -> list[Entry]:
    """Rows of items as whole entries: pictures and bags too.

    PictureLost where a picture is missing from the store or damaged, ItemDamaged where a row is not
    as it was stored.
    """
    unpacked: dict[int, dict[int, FragmentBag]] = {row.revision: {} for row in rows}
    by_revision = {row.revision: row for row in rows}
    for part in chunks(list(unpacked)):
        condition = (bags.c.collection == collection.key) & bags.c.revision.in_(part)
        for bag in connection.execute(select(bags).where(condition)):
            check_bag(by_revision[bag.revision], bag)
            unpacked[bag.revision][bag.position] = _bag(bag, collection.dimension)
    shown = picture_rows(connection, collection.key, list(unpacked))
    return [
        Entry(
            id=item.id,
            metadata=item.metadata,
            pictures=tuple(
                read_picture(item.id, picture, store) for picture in shown[item.revision]
            ),
            images=tuple(
                unpacked[item.revision][position_of(photo)] for photo in range(len(item.photos))
            ),
            sentences=item.sentences,
            bags=tuple(unpacked[item.revision][place] for place in range(len(item.sentences))),
            source=item.source,
            stamp=item.stamp,
        )
        for item in read_items(connection, collection.key, rows)
    ]


def read_picture(item: str, row: Values, store: Pictures) -> Picture:
    """The picture of a row of them; PictureLost as read_entries."""
    try:
        return Picture(store.get(row["name"]), row["width"], row["height"], row["digest"])
    except PictureLost as lost:
        raise PictureLost(f"item {item!r}: {lost}") from lost


def _bag(row: Row[Any], dimension: int) -> FragmentBag:
    return unpack_bag(unpack_vectors(row.vectors, dimension), row.details, row.position)
