"""Reading a catalog: items with pictures and bags, and views of collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Engine, func, select

from index.bags import position_of
from index.catalog.facets import passing
from index.catalog.pictures import PictureLost, Pictures
from index.catalog.read_rows import (
    chunks,
    picture_rows,
    read_entries,
    read_items,
    read_picture,
    row_of,
    rows_of,
    select_items,
)
from index.catalog.revisions import check_not_gone, key_if_live, read_revision, state_of
from index.catalog.stored_bags import StoredBag, StoredBags, read_bags
from index.catalog.views import CatalogView
from index.conditions import Scalar
from index.database.checksums import ItemDamaged
from index.database.driver_query import borrow
from index.database.errors import translate_errors
from index.database.moments import read_once
from index.database.storage import Storage
from index.database.tables import items
from index.items import Collection, Entry, Item, Picture, check_photo
from models.types import FragmentBag

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class SourceRow:
    """An imported item: its row alone."""

    id: str
    source: str
    stamp: str | None
    revision: int


class CatalogReader:
    """The readable part of a catalog; each method is a transaction.

    Safe for many threads.
    """

    def __init__(self, storage: Storage, reader: Engine, pictures: Pictures) -> None:
        self.storage, self.reader, self.pictures = storage, reader, pictures
        self._acknowledged: dict[int, int] = {}
        self._lock = Lock()

    def revision(self, collection: Collection) -> int:
        """Read the newest change's revision; Replaced if the collection is gone."""
        with borrow(self.reader) as connection:
            return read_revision(connection, self.reader.dialect, collection)

    def read_acknowledged(self, collection: Collection) -> int:
        """Return the newest revision that every search must include.

        It is this process's, or any if the storage is shared.
        Asks the database only if the storage is shared.
        """
        if self.storage.shared:
            return read_once((self, collection), lambda: self.revision(collection))
        return self._acknowledged.get(collection.key, 0)

    def acknowledge(self, collection: Collection, revision: int) -> None:
        """Note a revision that this process has written."""
        with self._lock:
            newest = max(revision, self._acknowledged.get(collection.key, 0))
            self._acknowledged[collection.key] = newest

    def get(self, collection: Collection, item: str) -> Item:
        """Read an item without pictures and bags.

        LookupError for an unknown id, or ItemDamaged.
        """
        with self.reader.begin() as connection:
            return read_items(connection, collection.key, [row_of(connection, collection, item)])[0]

    def get_many(
        self, collection: Collection, ids: Sequence[str], damaged: set[str] | None = None
    ) -> dict[str, Item]:
        """Read the existing sound items by id.

        The ids of damaged ones go to `damaged`.
        """
        with self.reader.begin() as connection:
            rows = check_not_gone(connection, collection, rows_of(connection, collection.key, ids))
            damaged = set() if damaged is None else damaged
            read = read_items(connection, collection.key, rows, damaged)
            return {item.id: item for item in read}

    def entry(self, collection: Collection, item: str) -> Entry:
        """Read an item with its pictures and bags.

        LookupError for an unknown id.
        Raises PictureLost if a picture is missing or damaged; ItemDamaged if its rows are damaged.
        """

        def read(connection: Connection) -> Entry:
            row = row_of(connection, collection, item)
            return read_entries(connection, collection, [row], self.pictures)[0]

        return self.read_pictures(read)

    def bags(
        self, collection: Collection, keys: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], StoredBag]:
        """Read the existing sound bags with these revisions and positions."""
        return self.look_up(collection, keys).sound

    def look_up(self, collection: Collection, keys: Sequence[tuple[int, int]]) -> StoredBags:
        """Read bags as `bags` does, and the items of damaged ones."""
        with borrow(self.reader) as connection:
            return read_bags(connection, self.reader.dialect, collection, keys)

    def picture(self, collection: Collection, item: str, photo: int = 0) -> Picture:
        """Read one of an item's pictures.

        LookupError for an unknown id or number.
        Raises PictureLost if it is missing or damaged.
        """

        def read() -> Picture:
            with self.reader.begin() as connection:
                row = row_of(connection, collection, item)
                read_items(connection, collection.key, [row])  # which checks what it reads
                rows = picture_rows(connection, collection.key, [row.revision])[row.revision]
            check_photo(item, photo, len(rows))
            # Outside the transaction: no connection waits for a slow store.
            return read_picture(item, rows[photo], self.pictures)

        try:
            return read()
        except PictureLost:  # perhaps its item was replaced since, see read_pictures
            return read()

    def bag(self, collection: Collection, item: str, photo: int = 0) -> FragmentBag:
        """Read the bag of a photo; raises the errors of `picture`."""
        with translate_errors(), self.reader.begin() as connection:
            revision = row_of(connection, collection, item).revision
            rows = picture_rows(connection, collection.key, [revision])[revision]
            check_photo(item, photo, len(rows))
            key = revision, position_of(photo)
            stored = read_bags(connection.connection, connection.dialect, collection, [key])
            if key not in stored.sound:
                raise ItemDamaged(item)
            return stored.sound[key].bag

    def read_pictures(self, read: Callable[[Connection], Read]) -> Read:
        """Read rows and their pictures in one transaction.

        A missing picture may have been replaced since the transaction began: then a
        second one finds the new row.
        """
        try:
            with self.reader.begin() as connection:
                return read(connection)
        except PictureLost:
            with self.reader.begin() as connection:
                return read(connection)

    def list_items(
        self,
        collection: Collection,
        *,
        after: str = "",
        limit: int = 100,
        where: Mapping[str, Any] | None = None,
        damaged: set[str] | None = None,
    ) -> list[Item]:
        """List the items that pass a metadata filter, by id, after `after`.

        ItemDamaged for one that is not as it was stored; with `damaged` it is left out instead, and
        its id is added there.
        """
        chosen = select_items(collection.key).where(items.c.id > after)
        if where:
            chosen = chosen.where(passing(collection.key, where))
        with self.reader.begin() as connection:
            selected = connection.execute(chosen.order_by(items.c.id).limit(limit)).all()
            rows = check_not_gone(connection, collection, selected)
            return read_items(connection, collection.key, rows, damaged)

    def count(self, collection: Collection) -> int:
        """Count the items."""
        condition = items.c.collection == key_if_live(collection.key)
        with self.reader.begin() as connection:
            return connection.execute(
                select(func.count()).select_from(items).where(condition)
            ).scalar_one()

    def stamps(self, collection: Collection, sources: Sequence[str]) -> dict[str, str | None]:
        """Read the stamps of imported sources, for imports to skip."""
        return self._read_at(collection, sources, items.c.stamp)

    def ids_at(self, collection: Collection, sources: Sequence[str]) -> dict[str, str]:
        """Read the ids of imported sources; of several items the newest."""
        return self._read_at(collection, sources, items.c.id)

    def _read_at(
        self, collection: Collection, sources: Sequence[str], column: Column[Any]
    ) -> dict[str, Any]:
        """Read a column of imported sources' items; of several items the newest."""
        values: dict[str, Any] = {}
        in_collection = items.c.collection == key_if_live(collection.key)
        with self.reader.begin() as connection:
            for part in chunks(sources):
                chosen = select(items.c.source, column).where(
                    in_collection, items.c.source.in_(part)
                )
                rows = connection.execute(chosen.order_by(items.c.revision))
                values.update((row.source, row[1]) for row in rows)
        return values

    def list_sources(
        self, collection: Collection, prefix: str, *, after: str = "", limit: int = 100
    ) -> list[SourceRow]:
        """List items with a source of a prefix, by id, after `after`."""
        begins = func.substr(items.c.source, 1, len(prefix)) == prefix
        in_collection = items.c.collection == key_if_live(collection.key)
        columns = (items.c.id, items.c.source, items.c.stamp, items.c.revision)
        chosen = select(*columns).where(in_collection, begins, items.c.id > after)
        with self.reader.begin() as connection:
            rows = connection.execute(chosen.order_by(items.c.id).limit(limit)).all()
        return [SourceRow(*row) for row in rows]

    def list_displaced(self, collection: Collection, prefix: str) -> list[str]:
        """List the ids of items with the source of a newer one."""
        begins = func.substr(items.c.source, 1, len(prefix)) == prefix
        in_collection = items.c.collection == key_if_live(collection.key)
        shared = select(items.c.source).where(in_collection, begins).group_by(items.c.source)
        displaced = list[str]()
        with self.reader.begin() as connection:
            sources = connection.execute(shared.having(func.count() > 1)).scalars().all()
            for part in chunks(sources):
                chosen = select(items.c.source, items.c.id).where(
                    in_collection, items.c.source.in_(part)
                )
                rows = connection.execute(chosen.order_by(items.c.revision)).all()
                newest = {row.source: row.id for row in rows}
                displaced += [row.id for row in rows if row.id != newest[row.source]]
        return sorted(displaced)

    def keys(self, collection: Collection) -> list[str]:
        """List the metadata keys of items."""
        with self.reading(collection) as view:
            return view.keys()

    def values(self, collection: Collection, key: str, most: int) -> list[Scalar]:
        """List different values of items under a metadata key, up to `most`."""
        with self.reading(collection) as view:
            return view.values(key, most)

    def example(self, collection: Collection, key: str) -> Any:
        """Find a late item's value of a key without comparable values.

        None without one.
        """
        with self.reading(collection) as view:
            return view.example(key)

    @contextmanager
    def reading(self, collection: Collection) -> Iterator[CatalogView]:
        """Open a consistent view of a collection; Replaced if it is gone."""
        with self.reader.begin() as connection:
            state = state_of(connection, collection)
            yield CatalogView(
                connection, collection.key, state.revision, state.floor, self.storage.buckets
            )
