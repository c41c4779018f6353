"""Entries as rows of the tables: written many at a time, and read back, within a transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select

from index.bags import (
    IMAGE,
    pack_details,
    pack_vectors,
    position_of,
    unpack_bag,
    unpack_vectors,
)
from index.facets import facets_of
from index.items import (
    Collection,
    Entry,
    Item,
    Picture,
    Shown,
    bucket_of,
    check_id,
    check_photo,
    metadata_text,
)
from index.pictures import PictureLost, Pictures, name_of
from index.revisions import live, state_of
from index.tables import bags, facets, items, pictures, retired, retired_pictures
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
    pictures: list[Values]


NewPhoto = tuple[Picture, FragmentBag]


def record(entry: Entry, pictures: list[Values] | None = None) -> Record:
    """The rows of an entry, to be made before a transaction begins.

    `pictures` are the rows of its pictures (see `picture_rows`), if those are stored already.
    """
    numbered = enumerate(entry.pictures)
    made = pictures or [_picture_row(number, one) for number, one in numbered]
    return _record(entry, entry.metadata, _bag_rows(entry), made)


def changed(
    connection: Connection,
    collection: int,
    row: Row[Any],
    metadata: Mapping[str, Any],
    photos: Sequence[int | NewPhoto] | None = None,
) -> Record:
    """A row of items with other metadata; its bags are copied as they are stored.

    `photos` are the photos that it is to have, in order: new ones, and numbers of those it has.
    LookupError for a number that it has not.
    """
    columns = (bags.c.position, bags.c.text, bags.c.details, bags.c.vectors)
    here = (bags.c.collection == collection) & (bags.c.revision == row.revision)
    stored = [dict(bag._mapping) for bag in connection.execute(select(*columns).where(here))]
    shown = picture_rows(connection, collection, [row.revision])[row.revision]
    if photos is not None:
        images = sorted((bag for bag in stored if bag["position"] <= IMAGE), key=_by_photo)
        chosen = [
            _copied(row.id, images, shown, one, number)
            if isinstance(one, int)
            else (_bag_row(position_of(number), None, one[1]), _picture_row(number, one[0]))
            for number, one in enumerate(photos)
        ]
        stored = [bag for bag in stored if bag["position"] > IMAGE] + [bag for bag, _ in chosen]
        shown = [picture for _, picture in chosen]
    if not stored:
        raise ValueError(f"item {row.id!r} would be left with neither a picture nor a sentence")
    return _record(row, metadata, stored, shown)


def _by_photo(row: Values) -> int:
    """A key by which rows of bags or pictures come in the order of an item's photos."""
    return -int(row["position"])


def _copied(
    item: str, images: Sequence[Values], shown: Sequence[Values], photo: int, number: int
) -> tuple[Values, Values]:
    """The bag and the picture of one of an item's photos as rows of its photo of a number."""
    check_photo(item, photo, len(shown))
    moved = {"position": position_of(number)}
    return images[photo] | moved, shown[photo] | moved


def _record(
    of: Entry | Row[Any],
    metadata: Mapping[str, Any],
    stored: list[Values],
    pictures: list[Values],
) -> Record:
    item = {
        "id": of.id,
        "bucket": bucket_of(of.id),
        "metadata": metadata_text(metadata),
        "source": of.source,
        "stamp": of.stamp,
    }
    pairs = [{"key": key, "value": value} for key, value in facets_of(metadata)]
    return Record(of.id, item, stored, pairs, pictures)


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
    unseen: list[Values] = []  # pictures that were replaced before anyone saw them
    for revision, one in enumerate(records, start=first):
        if one.id in latest:
            before, earlier = latest[one.id]
            replaced.append({"revision": revision, "was": before, "id": one.id})
            names = {picture["name"] for picture in earlier.pictures}
            unseen += [{"revision": revision, "name": name} for name in names]
        else:
            replacing[one.id] = revision
        latest[one.id] = revision, one
    was = retire(connection, collection, replacing)
    _insert(connection, retired, collection, replaced)
    _insert(connection, retired_pictures, collection, unseen)
    numbered = sorted(latest.values(), key=lambda pair: pair[0])
    _insert(connection, items, collection, ({"revision": r} | one.item for r, one in numbered))
    for table, name in ((bags, "bags"), (facets, "facets"), (pictures, "pictures")):
        rows = ({"revision": r} | row for r, one in numbered for row in getattr(one, name))
        _insert(connection, table, collection, rows)
    return was


def retire(connection: Connection, collection: int, changes: Mapping[str, int]) -> Replacing:
    """Take items out by id, and note the revision that did it; gives those they had, by id."""
    was: dict[str, int] = {}
    for ids in chunks(list(changes)):
        chosen = select(items.c.id, items.c.revision.label("was")).where(
            items.c.collection == collection, items.c.id.in_(ids)
        )
        rows = [dict(row._mapping) for row in connection.execute(chosen)]
        gone = [row | {"revision": changes[row["id"]]} for row in rows]
        _insert(connection, retired, collection, gone)
        by_revision = {row["was"]: row["revision"] for row in gone}
        _insert(
            connection, retired_pictures, collection, _named(connection, collection, by_revision)
        )
        here = (items.c.collection == collection) & items.c.revision.in_(by_revision)
        connection.execute(delete(items).where(here))
        was.update((row["id"], row["was"]) for row in rows)
    return was


def _named(connection: Connection, collection: int, gone: Mapping[int, int]) -> list[Values]:
    """The names of the pictures of items by revision, with the revisions that take them out."""
    here = (pictures.c.collection == collection) & pictures.c.revision.in_(gone)
    chosen = select(pictures.c.revision, pictures.c.name).where(here).distinct()
    return [{"revision": gone[was], "name": name} for was, name in connection.execute(chosen)]


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
    numbered += [(position_of(photo), None, bag) for photo, bag in enumerate(entry.images)]
    return [_bag_row(*row) for row in numbered]


def _bag_row(position: int, text: str | None, bag: FragmentBag) -> Values:
    packed = {"details": pack_details(bag), "vectors": pack_vectors(bag)}
    return {"position": position, "text": text} | packed


def _bag(row: Row[Any], dimension: int) -> FragmentBag:
    return unpack_bag(unpack_vectors(row.vectors, dimension), row.details, row.position)


def _picture_row(number: int, picture: Picture) -> Values:
    size = {"position": position_of(number), "width": picture.width, "height": picture.height}
    return size | {"digest": picture.digest, "name": name_of(picture.jpeg)}


def picture_rows(
    connection: Connection, collection: int, revisions: Sequence[int]
) -> dict[int, list[Values]]:
    """The rows of pictures of items by revision, in the order of their photos."""
    found: dict[int, list[Values]] = {revision: [] for revision in revisions}
    columns = [column for column in pictures.c if column is not pictures.c.collection]
    for part in chunks(revisions):
        here = (pictures.c.collection == collection) & pictures.c.revision.in_(part)
        chosen = select(*columns).where(here).order_by(pictures.c.position.desc())
        for row in connection.execute(chosen).mappings():
            values = dict(row)
            found[values.pop("revision")].append(values)
    return found


def select_items(collection: int) -> Select[Any]:
    """The items of a collection."""
    return select(items).where(items.c.collection == live(collection))


def row_of(connection: Connection, collection: Collection, item: str) -> Row[Any]:
    """An item's row; LookupError for an unknown id, Replaced as state_of."""
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
    """Rows of items as values, with their sentences and photos."""
    of: dict[int, list[str]] = {row.revision: [] for row in rows}
    for part in chunks(list(of)):
        sentences = (
            select(bags.c.revision, bags.c.text)
            .where(bags.c.collection == collection, bags.c.revision.in_(part))
            .where(bags.c.position > IMAGE)
            .order_by(bags.c.revision, bags.c.position)
        )
        for revision, text in connection.execute(sentences):
            of[revision].append(text)
    shown = picture_rows(connection, collection, list(of))
    return [
        Item(
            id=row.id,
            revision=row.revision,
            metadata=json.loads(row.metadata),
            source=row.source,
            stamp=row.stamp,
            sentences=tuple(of[row.revision]),
            photos=tuple(
                Shown(one["width"], one["height"], one["digest"]) for one in shown[row.revision]
            ),
        )
        for row in rows
    ]


def read_entries(
    connection: Connection, collection: Collection, rows: Sequence[Row[Any]], store: Pictures
) -> list[Entry]:
    """Rows of items as whole entries: pictures and bags too.

    PictureLost where a picture is missing from the store or damaged.
    """
    found: dict[int, dict[int, FragmentBag]] = {row.revision: {} for row in rows}
    for part in chunks(list(found)):
        here = (bags.c.collection == collection.key) & bags.c.revision.in_(part)
        for bag in connection.execute(select(bags).where(here)):
            found[bag.revision][bag.position] = _bag(bag, collection.dimension)
    shown = picture_rows(connection, collection.key, list(found))
    return [
        Entry(
            id=item.id,
            metadata=item.metadata,
            pictures=tuple(read_picture(item.id, one, store) for one in shown[item.revision]),
            images=tuple(
                found[item.revision][position_of(photo)] for photo in range(len(item.photos))
            ),
            sentences=item.sentences,
            bags=tuple(found[item.revision][place] for place in range(len(item.sentences))),
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
