"""Rows of the tables as items, with or without bags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, select

from index.bags import IMAGE, position_of, unpack_bag, unpack_vectors
from index.catalog.pictures import PictureLost, Pictures
from index.catalog.revisions import key_if_live, state_of
from index.database.checksums import LOG, ItemDamaged, is_sound_bag, is_sound_item
from index.database.driver_query import DriverQuery
from index.database.errors import translate_errors
from index.database.tables import bags, items, pictures
from index.items import Collection, Entry, Item, PhotoInfo, Picture, check_id
from index.metadata import read_metadata
from models.types import FragmentBag

CHUNK = 500  # ids or revisions in one statement
Values = dict[str, Any]


class StoredItemRow(NamedTuple):
    """A row of an item, read by the driver."""

    collection: int
    revision: int
    id: str
    bucket: int
    metadata: str
    source: str | None
    stamp: str | None
    checksums: bytes | None


# Every search runs these, so the driver does.
_ITEMS = DriverQuery(
    select(*(items.c[name] for name in StoredItemRow._fields)).where(
        items.c.collection == key_if_live(bindparam("collection", type_=items.c.collection.type))
    ),
    among=items.c.id,
)
_SHOWN = [column for column in pictures.c if column is not pictures.c.collection]
_PICTURES = DriverQuery(
    select(*_SHOWN)
    .where(pictures.c.collection == bindparam("collection"))
    .order_by(pictures.c.position.desc()),
    among=pictures.c.revision,
)
_TEXTS = DriverQuery(
    select(bags.c.revision, bags.c.text)
    .where(bags.c.collection == bindparam("collection"))
    .where(bags.c.position > IMAGE)
    .order_by(bags.c.revision, bags.c.position),
    among=bags.c.revision,
)


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Cut values into parts for one statement each."""
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


def picture_rows(
    connection: Connection, collection: int, revisions: Sequence[int]
) -> dict[int, list[Values]]:
    """Read the rows of items' pictures by revision, in photo order."""
    by_revision: dict[int, list[Values]] = {revision: [] for revision in revisions}
    names = [column.name for column in _SHOWN]
    for row in _fetch(_PICTURES, connection, collection, revisions):
        values = dict(zip(names, row, strict=True))
        by_revision[values.pop("revision")].append(values)
    return by_revision


def select_items(collection: int) -> Select[Any]:
    """Select the items of a collection."""
    return select(items).where(items.c.collection == key_if_live(collection))


def rows_of(connection: Connection, collection: int, ids: Sequence[str]) -> list[StoredItemRow]:
    """Read the rows of existing items by id."""
    return [StoredItemRow(*row) for row in _fetch(_ITEMS, connection, collection, ids)]


def _fetch(
    query: DriverQuery, connection: Connection, collection: int, values: Sequence[object]
) -> Iterator[Any]:
    """Fetch a collection's rows with some values, part after part."""
    driver, dialect = connection.connection, connection.dialect
    with translate_errors():
        for part in chunks(values):
            yield from query.fetch(driver, dialect, part, collection=collection)


def row_of(connection: Connection, collection: Collection, item: str) -> Row[Any]:
    """Read an item's row; LookupError for an unknown id, Replaced as state_of."""
    check_id(item)
    statement = select_items(collection.key).where(items.c.id == item)
    row = connection.execute(statement).one_or_none()
    if row is None:
        state_of(connection, collection)
        raise error_of_unknown(collection, item)
    return row


def error_of_unknown(collection: Collection, item: str) -> LookupError:
    """Return the error for a missing item."""
    return LookupError(f"no item {item!r:.220} in collection {collection.name!r}")


def read_items(
    connection: Connection,
    collection: int,
    rows: Sequence[Row[Any] | StoredItemRow],
    damaged: set[str] | None = None,
) -> list[Item]:
    """Read items of rows, with their sentences and photos.

    Raises ItemDamaged for a damaged one; with `damaged` it is left out instead, and
    its id is added there.
    """
    texts = read_texts(connection, collection, [row.revision for row in rows])
    shown = picture_rows(connection, collection, list(texts))
    read: list[Item] = []
    for row in rows:
        try:
            read.append(_make_item(row, shown[row.revision], texts[row.revision]))
        except ItemDamaged:
            if damaged is None:
                raise
            LOG.add(collection, row.revision, row.id)
            damaged.add(row.id)
    return read


def read_texts(
    connection: Connection, collection: int, revisions: Sequence[int]
) -> dict[int, list[str]]:
    """Read the sentences of items by revision."""
    texts: dict[int, list[str]] = {revision: [] for revision in revisions}
    for revision, text in _fetch(_TEXTS, connection, collection, list(texts)):
        texts[revision].append(text)
    return texts


def _make_item(
    row: Row[Any] | StoredItemRow, pictures: Sequence[Values], texts: Sequence[str]
) -> Item:
    if not is_sound_item(row._asdict(), pictures, texts):
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
            PhotoInfo(picture["width"], picture["height"], picture["digest"])
            for picture in pictures
        ),
        notes=notes,
    )


def check_bag(item: Row[Any], bag: Row[Any]) -> None:
    """Raise ItemDamaged for a damaged bag of an item."""
    place = (bag.revision, bag.position, bag.details, bag.vectors)
    if not is_sound_bag(item.checksums, item.id, *place):
        raise ItemDamaged(item.id)


def read_entries(
    connection: Connection, collection: Collection, rows: Sequence[Row[Any]], store: Pictures
) -> list[Entry]:
    """Read whole entries of rows of items: pictures and bags too.

    Raises PictureLost if a picture is missing or damaged, ItemDamaged if a row is
    damaged.
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
    """Read the picture of a row; PictureLost as read_entries."""
    try:
        return Picture(store.get(row["name"]), row["width"], row["height"], row["digest"])
    except PictureLost as lost:
        raise PictureLost(f"item {item!r}: {lost}") from lost


def _bag(row: Row[Any], dimension: int) -> FragmentBag:
    return unpack_bag(unpack_vectors(row.vectors, dimension), row.details, row.position)
