"""Entries as rows of the tables: written many at a time, and read back, within a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select

from index.bags import IMAGE, pack_details, pack_vectors, unpack_bag, unpack_vectors
from index.facets import facets_of
from index.items import Collection, Entry, Item, Picture, bucket_of, check_id, metadata_text
from index.pictures import PictureLost, Pictures, name_of
from index.revisions import live, state_of
from index.tables import bags, facets, items, pictures, retired
from models.types import FragmentBag

CHUNK = 500  # ids or revisions in one statement
Values = dict[str, Any]
Replacing = Mapping[str, int]  # the revisions of items that a change takes out, by id


@dataclass(frozen=True, slots=True)
class Record:
    """An entry as the rows it becomes, but for their collection and revision."""

    id: str
    item: Values
    bags: list[Values]
    facets: list[Values]
    picture: Values | None


def record(entry: Entry, picture: Values | None = None) -> Record:
    """The rows of an entry, to be made before a transaction begins.

    `picture` is the row of its picture (see `picture_rows`), if that is stored already.
    """
    if picture is None and entry.picture is not None:
        picture = _picture_row(entry.picture)
    return _record(entry, entry.metadata, _bag_rows(entry), picture)


def with_metadata(
    connection: Connection, collection: int, row: Row[Any], metadata: Mapping[str, Any]
) -> Record:
    """A row of select_items with other metadata; its bags are copied as they are stored."""
    columns = (bags.c.position, bags.c.text, bags.c.details, bags.c.vectors)
    here = (bags.c.collection == collection) & (bags.c.revision == row.revision)
    stored = [dict(bag._mapping) for bag in connection.execute(select(*columns).where(here))]
    return _record(row, metadata, stored, picture_rows([row]).get(row.id))


def _record(
    of: Entry | Row[Any], metadata: Mapping[str, Any], stored: list[Values], picture: Values | None
) -> Record:
    item = {
        "id": of.id,
        "bucket": bucket_of(of.id),
        "metadata": metadata_text(metadata),
        "source": of.source,
        "stamp": of.stamp,
    }
    pairs = [{"key": key, "value": value} for key, value in facets_of(metadata)]
    return Record(of.id, item, stored, pairs, picture)


def write(
    connection: Connection, collection: int, first: int, records: Sequence[Record]
) -> Replacing:
    """Put records under revisions from `first` on; the items they replace are retired.

    Of records with the same id, the last is stored; each of the others counts as replaced. Gives
    the revisions of the items there were, by id.
    """
    latest: dict[str, tuple[int, Record]] = {}
    replacing: dict[str, int] = {}
    replaced: list[Values] = []
    for revision, one in enumerate(records, start=first):
        if one.id in latest:
            before, earlier = latest[one.id]
            name = earlier.picture and earlier.picture["name"]
            replaced.append({"revision": revision, "was": before, "id": one.id, "picture": name})
        else:
            replacing[one.id] = revision
        latest[one.id] = revision, one
    was = retire(connection, collection, replacing)
    _insert(connection, retired, collection, replaced)
    numbered = sorted(latest.values(), key=lambda pair: pair[0])
    _insert(connection, items, collection, ({"revision": r} | one.item for r, one in numbered))
    for table, name in ((bags, "bags"), (facets, "facets")):
        rows = ({"revision": r} | row for r, one in numbered for row in getattr(one, name))
        _insert(connection, table, collection, rows)
    shown = ({"revision": r} | one.picture for r, one in numbered if one.picture)
    _insert(connection, pictures, collection, shown)
    return was


def retire(connection: Connection, collection: int, changes: Mapping[str, int]) -> Replacing:
    """Take items out by id, and note the revision that did it; gives those they had, by id."""
    was: dict[str, int] = {}
    for ids in chunks(list(changes)):
        chosen = (
            select(items.c.id, items.c.revision.label("was"), pictures.c.name.label("picture"))
            .outerjoin_from(items, pictures)
            .where(items.c.collection == collection, items.c.id.in_(ids))
        )
        rows = [dict(row._mapping) for row in connection.execute(chosen)]
        gone = [row | {"revision": changes[row["id"]]} for row in rows]
        _insert(connection, retired, collection, gone)
        here = (items.c.collection == collection) & items.c.revision.in_(
            [row["was"] for row in rows]
        )
        connection.execute(delete(items).where(here))
        was.update((row["id"], row["was"]) for row in rows)
    return was


def chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Values, as many at a time as one statement takes."""
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))


def _insert(connection: Connection, table: Any, collection: int, rows: Iterable[Values]) -> None:
    if found := [{"collection": collection} | row for row in rows]:
        connection.execute(insert(table), found)


def _bag_rows(entry: Entry) -> list[Values]:
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


def _bag(row: Row[Any], dimension: int) -> FragmentBag:
    return unpack_bag(unpack_vectors(row.vectors, dimension), row.details, row.position)


def _picture_row(picture: Picture) -> Values:
    size = {"width": picture.width, "height": picture.height}
    return size | {"digest": picture.digest, "name": name_of(picture.jpeg)}


def picture_rows(rows: Sequence[Row[Any]]) -> dict[str, Values]:
    """The picture rows among rows of select_items, by the id of their item."""
    columns = ("width", "height", "digest", "name")
    return {
        row.id: {column: getattr(row, column) for column in columns} for row in rows if row.name
    }


def select_items(collection: int) -> Select[Any]:
    """Items with what the table of pictures says of them."""
    about = (pictures.c.width, pictures.c.height, pictures.c.digest, pictures.c.name)
    return (
        select(items, *about)
        .outerjoin_from(items, pictures)
        .where(items.c.collection == live(collection))
    )


def row_of(connection: Connection, collection: Collection, item: str) -> Row[Any]:
    """An item's row of select_items; LookupError for an unknown id, Replaced as state_of."""
    check_id(item)
    here = select_items(collection.key).where(items.c.id == item)
    row = connection.execute(here).one_or_none()
    if row is None:
        state_of(connection, collection)
        raise unknown(collection, item)
    return row


def unknown(collection: Collection, item: str) -> LookupError:
    """The error of asking for an item that is not there."""
    return LookupError(f"no item {item!r:.220} in collection {collection.name!r}")


def read_items(connection: Connection, collection: int, rows: Sequence[Row[Any]]) -> list[Item]:
    """Rows of select_items as items, with their sentences."""
    of: dict[int, list[str]] = {row.revision: [] for row in rows}
    for part in chunks(list(of)):
        sentences = (
            select(bags.c.revision, bags.c.text)
            .where(bags.c.collection == collection, bags.c.revision.in_(part))
            .where(bags.c.position != IMAGE)
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
    connection: Connection, collection: Collection, rows: Sequence[Row[Any]], store: Pictures
) -> list[Entry]:
    """Rows of select_items as whole entries: pictures and bags too.

    PictureLost where a picture is missing from the store or damaged.
    """
    found: dict[int, dict[int, FragmentBag]] = {row.revision: {} for row in rows}
    for part in chunks(list(found)):
        here = (bags.c.collection == collection.key) & bags.c.revision.in_(part)
        for bag in connection.execute(select(bags).where(here)):
            found[bag.revision][bag.position] = _bag(bag, collection.dimension)
    return [
        Entry(
            id=item.id,
            metadata=item.metadata,
            picture=read_picture(row, store),
            image=found[item.revision].get(IMAGE),
            sentences=item.sentences,
            bags=tuple(found[item.revision][place] for place in range(len(item.sentences))),
            source=item.source,
            stamp=item.stamp,
        )
        for row, item in zip(rows, read_items(connection, collection.key, rows), strict=True)
    ]


def read_picture(row: Row[Any], store: Pictures) -> Picture | None:
    """The picture of a row of select_items, if it has one; PictureLost as read_entries."""
    if row.name is None:
        return None
    try:
        return Picture(store.get(row.name), row.width, row.height, row.digest)
    except PictureLost as lost:
        raise PictureLost(f"item {row.id!r}: {lost}") from lost
