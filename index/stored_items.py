"""Rows of the tables as items: read within a transaction, whole or without their bags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from index.bags import IMAGE, position_of, unpack_bag, unpack_vectors
from index.failures import Damaged
from index.items import Collection, Entry, Item, Picture, Shown, check_id
from index.metadata import read_metadata
from index.pictures import PictureLost, Pictures
from index.revisions import live, state_of
from index.tables import bags, items, pictures
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


def read_items(connection: Connection, collection: int, rows: Sequence[Row[Any]]) -> list[Item]:
    """Rows of items as values, with their sentences and photos.

    One whose metadata is damaged is without, and says so in its notes.
    """
    texts: dict[int, list[str]] = {row.revision: [] for row in rows}
    for part in chunks(list(texts)):
        sentences = (
            select(bags.c.revision, bags.c.text)
            .where(bags.c.collection == collection, bags.c.revision.in_(part))
            .where(bags.c.position > IMAGE)
            .order_by(bags.c.revision, bags.c.position)
        )
        for revision, text in connection.execute(sentences):
            texts[revision].append(text)
    shown = picture_rows(connection, collection, list(texts))
    return [
        Item(
            id=row.id,
            revision=row.revision,
            metadata=metadata,
            source=row.source,
            stamp=row.stamp,
            sentences=tuple(texts[row.revision]),
            photos=tuple(
                Shown(picture["width"], picture["height"], picture["digest"])
                for picture in shown[row.revision]
            ),
            notes=notes,
        )
        for row in rows
        for metadata, notes in [_metadata(row)]
    ]


def _metadata(row: Row[Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The metadata of a row of items, and notes: none of it where it is damaged."""
    try:
        return read_metadata(row.metadata)
    except ValueError as damaged:
        return {}, (str(damaged),)


def read_entries(
    connection: Connection, collection: Collection, rows: Sequence[Row[Any]], store: Pictures
) -> list[Entry]:
    """Rows of items as whole entries: pictures and bags too.

    PictureLost where a picture is missing from the store or damaged, Damaged where the metadata is.
    """
    unpacked: dict[int, dict[int, FragmentBag]] = {row.revision: {} for row in rows}
    for part in chunks(list(unpacked)):
        condition = (bags.c.collection == collection.key) & bags.c.revision.in_(part)
        for bag in connection.execute(select(bags).where(condition)):
            unpacked[bag.revision][bag.position] = _bag(bag, collection.dimension)
    shown = picture_rows(connection, collection.key, list(unpacked))
    return [
        Entry(
            id=item.id,
            metadata=_whole(item),
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


def _whole(item: Item) -> dict[str, Any]:
    """The metadata of an item of which nothing is missing."""
    if item.notes and not item.metadata:
        raise Damaged(f"item {item.id!r}: {item.notes[0]}")
    return item.metadata


def read_picture(item: str, row: Values, store: Pictures) -> Picture:
    """The picture of a row of them; PictureLost as read_entries."""
    try:
        return Picture(store.get(row["name"]), row["width"], row["height"], row["digest"])
    except PictureLost as lost:
        raise PictureLost(f"item {item!r}: {lost}") from lost


def _bag(row: Row[Any], dimension: int) -> FragmentBag:
    return unpack_bag(unpack_vectors(row.vectors, dimension), row.details, row.position)
