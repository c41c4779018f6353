"""Edits of stored items: patches of metadata, other photos, deletion of many.

Edits embed nothing. A changed item gets a new revision, as rows never change, and
bags that stay are copied.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, select

from index.catalog.catalog import PAUSE, Catalog
from index.catalog.facets import passing
from index.catalog.pictures import name_of
from index.catalog.read_rows import chunks, read_items, row_of
from index.catalog.revisions import advance, hold, key_if_live
from index.catalog.write_rows import (
    NewPhoto,
    NewSentence,
    record_change,
    remember_photos,
    retire,
    write,
)
from index.conditions import Condition, Either, Equals, Every, Not
from index.database.tables import facets, items
from index.filters import parse
from index.items import (
    ANY,
    MOST_PHOTOS,
    Collection,
    Dropped,
    Expected,
    Item,
    Replaced,
    check_id,
    check_size,
)
from index.metadata import check_depth, check_values, read_metadata

BATCH = 200  # items that are deleted in one transaction


@dataclass(frozen=True, slots=True)
class ItemSelection:
    """Items to delete: by ids, by a filter, or by revisions.

    Raises ValueError for none or several, and for a filter with an empty part: it would
    mean all items.
    """

    ids: Sequence[str] | None = None
    where: Mapping[str, Any] | None = None
    revisions: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if [self.ids, self.where, self.revisions].count(None) != 2:
            raise ValueError("name either ids or a filter")
        if self.where is not None and not is_restrictive(parse(self.where)):
            raise ValueError(
                "the filter has no condition, or an empty one; drop the collection to delete all "
                "of it"
            )
        for item in self.ids or ():
            check_id(item)

    def parts(self, collection: int) -> Iterator[ColumnElement[bool]]:
        """Yield conditions for all of the items, each short enough for SQL."""
        if self.where is not None:
            yield passing(collection, self.where)
        for part in chunks(sorted(set(self.ids or ()))):
            yield items.c.id.in_(part)
        for part in chunks(self.revisions or ()):
            yield items.c.revision.in_(part)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an item: a metadata patch, or None to clear.

    `photos` lists all its photos in order: new ones, and the numbers of old ones. Its
    stamp stays by default; None deletes it. See record_change for `sentence`.
    """

    metadata: Mapping[str, Any] | None = field(default_factory=dict)
    photos: Sequence[int | NewPhoto] | None = None
    stamp: str | EllipsisType | None = ...
    sentence: NewSentence | None = None

    def __post_init__(self) -> None:
        check_depth(self.metadata or {})
        if self.photos is not None and len(self.photos) > MOST_PHOTOS:
            raise ValueError(f"images: {len(self.photos)} photos; {MOST_PHOTOS} at most are kept")


def merge(target: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7396): objects merge, null deletes.

    >>> merge({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
    {'b': {'c': 4, 'd': 3}}
    """
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def patch(
    catalog: Catalog,
    collection: Collection,
    item: str,
    change: Change,
    expected: Expected = ANY,
) -> Item:
    """Change an item, and return it.

    Raises LookupError for an unknown id or number, ConditionFailed if it is not at a revision that
    is expected, ValueError for invalid metadata, or if nothing would be left to search.
    """
    photos = change.photos or ()
    new = {name_of(photo[0].jpeg): photo[0].jpeg for photo in photos if not isinstance(photo, int)}
    with catalog.storing(new) as connection:
        revision = advance(connection, collection, 1)
        row = row_of(connection, collection, item)
        expected.check(item, row.revision)
        metadata = (
            {} if change.metadata is None else _merge_stored(item, row.metadata, change.metadata)
        )
        if change.metadata:  # what has more already may get another photo
            check_values(metadata)
        record = record_change(
            connection, collection.key, row, metadata, change.photos, change.sentence
        )
        if change.metadata:  # what is larger already may get another photo
            sentences = [bag["text"] for bag in record.bags if bag["text"] is not None]
            check_size(item, metadata, sentences, catalog.storage.item_text)
        record.item["stamp"] = row.stamp if change.stamp is ... else change.stamp
        write(connection, collection.key, revision, [record])
        row = row_of(connection, collection, item)
        (patched,) = read_items(connection, collection.key, [row])
    catalog.acknowledge(collection, revision)
    return patched


def _merge_stored(item: str, stored: str, change: Mapping[str, Any]) -> Any:
    """Apply a patch to stored metadata; ValueError if it is damaged."""
    try:
        metadata, _ = read_metadata(stored)
    except ValueError as damaged:
        raise ValueError(f"item {item!r}: {damaged}, or send null as its metadata") from damaged
    return merge(metadata, change)


def count(catalog: Catalog, collection: Collection, chosen: ItemSelection) -> int:
    """Count the chosen items; raises the errors of `delete`."""
    with catalog.reader.begin() as connection:
        _check_keys(connection, collection, chosen)
        return _count(connection, collection, chosen)


def delete(
    catalog: Catalog, collection: Collection, chosen: ItemSelection, *, remember: bool = False
) -> int:
    """Delete items in short transactions; return their number.

    With `remember`, imports leave their photos out (see index.database.deleted_photos).

    Others can write in between.
    Items put or patched meanwhile stay. Raises Dropped if the collection goes when some are deleted
    already: its name may then stand for another one, whose items no one has chosen.

    After an interruption the same call deletes the remaining items, except for a
    filter on the absence of a key that no remaining item has. That is a
    ValueError, as a typo would choose too many.
    """
    with catalog.reader.begin() as connection:
        _check_keys(connection, collection, chosen)
    newest = catalog.revision(collection)
    deleted = 0
    try:
        for part in chosen.parts(collection.key):
            condition = and_(_here(collection), items.c.revision <= newest, part)
            while (batch := _delete(catalog, collection, condition, remember=remember)) == BATCH:
                deleted += batch
                time.sleep(PAUSE)
            deleted += batch
    except Replaced as gone:
        if not deleted:
            raise
        raise Dropped(f"{gone}: {deleted:,} items were deleted before") from gone
    return deleted


def _count(connection: Connection, collection: Collection, chosen: ItemSelection) -> int:
    return sum(
        connection.execute(
            select(func.count()).select_from(items).where(_here(collection), part)
        ).scalar_one()
        for part in chosen.parts(collection.key)
    )


def _check_keys(connection: Connection, collection: Collection, chosen: ItemSelection) -> None:
    """Refuse a filter by the absence of a key without any item."""
    for key in sorted(list_negated_keys(parse(chosen.where))):
        named = (facets.c.collection == collection.key) & (facets.c.key == key)
        unknown = connection.execute(select(facets.c.key).where(named).limit(1)).first() is None
        if unknown and _count(connection, collection, chosen):
            raise ValueError(
                f"no item has {key!r:.100} in its metadata, and the filter chooses items for the "
                "lack of it, which may be a typo: nothing was deleted; name their ids if it is none"
            )


def _delete(
    catalog: Catalog, collection: Collection, condition: ColumnElement[bool], *, remember: bool
) -> int:
    """Delete the next items; return how many."""
    with catalog.writer.begin() as connection:
        hold(connection, collection)
        ids = connection.execute(select(items.c.id).where(condition).limit(BATCH)).scalars().all()
        if not ids:
            return 0
        if remember:
            remember_photos(connection, collection, ids)
        last = advance(connection, collection, len(ids))
        first = last - len(ids) + 1
        retire(connection, collection.key, {item: first + at for at, item in enumerate(ids)})
    catalog.acknowledge(collection, last)
    return len(ids)


def _here(collection: Collection) -> ColumnElement[bool]:
    return items.c.collection == key_if_live(collection.key)


def is_restrictive(condition: Condition) -> bool:
    """Return whether no part of a condition is empty.

    An empty one is trivially true or false.
    >>> [is_restrictive(parse(where)) for where in ({"a": 1}, {"$or": [{"a": 1}, {}]}, {"a": []})]
    [True, False, False]
    """
    match condition:
        case Every(parts) | Either(parts):
            return bool(parts) and all(is_restrictive(part) for part in parts)
        case Not(part):
            return is_restrictive(part)
        case Equals(_, values):
            return bool(values)
        case _:
            return True


def list_negated_keys(condition: Condition, *, negated: bool = False) -> frozenset[str]:
    """List keys whose absence can make a condition hold.

    >>> sorted(list_negated_keys(parse({"a": 1, "b": {"exists": False}, "$not": {"c": 1}})))
    ['b', 'c']
    """
    match condition:
        case Every(parts) | Either(parts):
            return frozenset().union(*(list_negated_keys(part, negated=negated) for part in parts))
        case Not(part):
            return list_negated_keys(part, negated=not negated)
        case _:
            return frozenset({condition.key} if negated else ())
