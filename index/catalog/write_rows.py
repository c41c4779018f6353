"""Entries as rows of the tables, written many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    Column,
    Connection,
    Insert,
    Row,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.types import TypeEngine

from index.bags import (
    IMAGE,
    pack_details,
    pack_vectors,
    position_of,
)
from index.catalog.facets import facets_of
from index.catalog.pictures import name_of
from index.catalog.read_rows import StoredItemRow, Values, chunks, picture_rows
from index.database import deleted_photos
from index.database.checksums import ItemDamaged, checksums_of
from index.database.deleted_photos import DeletedPhoto
from index.database.tables import bags, facets, items, pictures, retired, retired_pictures
from index.items import (
    Collection,
    Entry,
    Picture,
    bucket_of,
    check_photo,
    metadata_text,
)
from models.types import FragmentBag

Replacing = Mapping[str, int]  # the revisions that a change retires, by id


@dataclass(frozen=True, slots=True)
class Record:
    """The rows of an entry, without collection and revision."""

    id: str
    item: Values
    bags: list[Values]
    facets: list[Values]
    pictures: list[Values]


NewPhoto = tuple[Picture, FragmentBag]


@dataclass(frozen=True, slots=True)
class NewSentence:
    """A sentence for an item with the `former` one and nothing else."""

    former: str
    text: str
    bag: FragmentBag


def record(entry: Entry, pictures: list[Values] | None = None) -> Record:
    """Make the rows of an entry, before a transaction begins.

    `pictures` are the rows of its pictures (see `picture_rows`), if those are stored already.
    """
    numbered = enumerate(entry.pictures)
    rows = pictures or [_picture_row(number, picture) for number, picture in numbered]
    return _record(entry, entry.metadata, _bag_rows(entry), rows)


def record_change(
    connection: Connection,
    collection: int,
    row: Row[Any] | StoredItemRow,
    metadata: Mapping[str, Any],
    photos: Sequence[int | NewPhoto] | None = None,
    sentence: NewSentence | None = None,
) -> Record:
    """Make the rows of an item with new metadata and old bags.

    `photos` lists its photos in order: new ones, and numbers of old ones. A `sentence` replaces
    its former one, if the item has only that.
    Raises LookupError for a number that it lacks, ItemDamaged for a damaged item.
    """
    columns = (bags.c.position, bags.c.text, bags.c.details, bags.c.vectors)
    condition = (bags.c.collection == collection) & (bags.c.revision == row.revision)
    stored = [dict(bag._mapping) for bag in connection.execute(select(*columns).where(condition))]
    shown = picture_rows(connection, collection, [row.revision])[row.revision]
    if row.checksums not in (None, checksums_of(row._asdict(), shown, stored)):
        raise ItemDamaged(row.id)  # or new checksums would vouch for the damage
    if photos is not None:
        images = sorted((bag for bag in stored if bag["position"] <= IMAGE), key=_by_photo)
        chosen = [
            _copy_photo(row.id, images, shown, photo, number)
            if isinstance(photo, int)
            else (_bag_row(position_of(number), None, photo[1]), _picture_row(number, photo[0]))
            for number, photo in enumerate(photos)
        ]
        stored = [bag for bag in stored if bag["position"] > IMAGE] + [bag for bag, _ in chosen]
        shown = [picture for _, picture in chosen]
    if sentence is not None and [bag["text"] for bag in stored] == [sentence.former]:
        stored = [_bag_row(0, sentence.text, sentence.bag)]
    if not stored:
        raise ValueError(f"item {row.id!r} would be left with neither a picture nor a sentence")
    return _record(row, metadata, stored, shown)


def _by_photo(row: Values) -> int:
    """Return a sort key of rows of bags or pictures: photo order."""
    return -int(row["position"])


def _copy_photo(
    item: str, images: Sequence[Values], shown: Sequence[Values], photo: int, number: int
) -> tuple[Values, Values]:
    """Copy the rows of an item's photo to another photo number."""
    check_photo(item, photo, len(shown))
    moved = {"position": position_of(number)}
    return images[photo] | moved, shown[photo] | moved


def _record(
    of: Entry | Row[Any] | StoredItemRow,
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
    """Write records under revisions from `first` on; retire the items they replace.

    Of records with the same id, the last is stored; the others count as replaced. Returns
    the revisions of replaced items, by id.
    """
    latest: dict[str, tuple[int, Record]] = {}
    replacing: dict[str, int] = {}
    replaced: list[Values] = []
    unseen: list[Values] = []  # pictures that were replaced within the transaction
    for revision, record in enumerate(records, start=first):
        if record.id in latest:
            previous, earlier = latest[record.id]
            replaced.append({"revision": revision, "was": previous, "id": record.id})
            names = {picture["name"] for picture in earlier.pictures}
            unseen += [{"revision": revision, "name": name} for name in names]
        else:
            replacing[record.id] = revision
        latest[record.id] = revision, record
    was = retire(connection, collection, replacing)
    _insert(connection, retired, collection, replaced)
    _insert(connection, retired_pictures, collection, unseen)
    numbered = sorted(latest.values(), key=lambda pair: pair[0])
    _insert(connection, items, collection, (_item_row(*pair) for pair in numbered))
    for table, name in ((bags, "bags"), (facets, "facets"), (pictures, "pictures")):
        rows = ({"revision": r} | row for r, record in numbered for row in getattr(record, name))
        _insert(connection, table, collection, rows)
    return was


def _item_row(revision: int, record: Record) -> Values:
    """Make the row of an item, with all of its checksums."""
    item = {"revision": revision} | record.item
    return item | {"checksums": checksums_of(item, record.pictures, record.bags)}


def remember_photos(connection: Connection, collection: Collection, ids: Sequence[str]) -> None:
    """Remember the photos of imported items, before they are retired."""
    columns = (items.c.id, items.c.revision, items.c.source, items.c.stamp)
    sourced = items.c.source.is_not(None) & items.c.stamp.is_not(None)
    for part in chunks(ids):
        chosen = (items.c.collection == collection.key) & items.c.id.in_(part) & sourced
        rows = connection.execute(select(*columns).where(chosen)).all()
        shown = picture_rows(connection, collection.key, [row.revision for row in rows])
        for row in rows:
            if digests := tuple(picture["digest"] for picture in shown[row.revision]):
                photo = DeletedPhoto(row.id, row.source, row.stamp, digests)
                deleted_photos.remember(connection, collection.name, photo)


def retire(connection: Connection, collection: int, changes: Mapping[str, int]) -> Replacing:
    """Retire items by id; return their old revisions by id."""
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
            connection,
            retired_pictures,
            collection,
            _list_pictures(connection, collection, by_revision),
        )
        condition = (items.c.collection == collection) & items.c.revision.in_(by_revision)
        connection.execute(delete(items).where(condition))
        was.update((row["id"], row["was"]) for row in rows)
    return was


def _list_pictures(
    connection: Connection, collection: int, gone: Mapping[int, int]
) -> list[Values]:
    """List the names of items' pictures, with the revisions that retire them."""
    condition = (pictures.c.collection == collection) & pictures.c.revision.in_(gone)
    chosen = select(pictures.c.revision, pictures.c.name).where(condition).distinct()
    return [{"revision": gone[was], "name": name} for was, name in connection.execute(chosen)]


def _insert(connection: Connection, table: Any, collection: int, rows: Iterable[Values]) -> None:
    if values := [{"collection": collection} | row for row in rows]:
        insert_rows(connection, table, values)


def insert_rows(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert at least one row; all have the same columns."""
    if connection.dialect.name == "postgresql":
        names = tuple(sorted(rows[0]))
        arrays = {name: [row[name] for row in rows] for name in names}
        connection.execute(_insert_arrays(table, names), arrays)
    else:
        connection.execute(insert(table), rows)


@lru_cache(maxsize=64)
def _insert_arrays(table: Table, names: tuple[str, ...]) -> Insert:
    """Compile a PostgreSQL insert: an array for each column.

    It inserts any number of rows.
    """
    arrays = (bindparam(name, type_=ARRAY(_drop_collation(table.c[name]))) for name in names)
    rows = func.unnest(*arrays).table_valued(*names, name="rows").render_derived()
    return insert(table).from_select(names, select(*(rows.c[name] for name in names)))


def _drop_collation(column: Column[Any]) -> TypeEngine[Any]:
    """Return the type of a column without its collation."""
    return Text() if isinstance(column.type, String) else column.type


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


def _picture_row(number: int, picture: Picture) -> Values:
    size = {"position": position_of(number), "width": picture.width, "height": picture.height}
    return size | {"digest": picture.digest, "name": name_of(picture.jpeg)}
