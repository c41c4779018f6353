"""Which items a collection holds: the database is the truth, and every change has a revision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from index.facets import matching
from index.items import Collection, Entry, Item, ModelMismatch, Picture, check_id
from index.records import (
    check_dimension,
    read_entries,
    read_items,
    read_picture,
    retire,
    select_items,
    write_entry,
)
from index.tables import bags, collections, connect, items, retired


@dataclass(frozen=True, slots=True)
class BagRow:
    """One stored bag: the image's (position -1) or that of a sentence."""

    revision: int
    position: int
    item: str
    details: bytes
    vectors: bytes


@dataclass(frozen=True, slots=True)
class View:
    """A collection as of one revision, inside one read transaction."""

    connection: Connection
    collection: int
    revision: int

    def revisions(self) -> NDArray[np.int64]:
        """The revisions of the items there are, in order."""
        return self._numbers(
            select(items.c.revision)
            .where(items.c.collection == self.collection)
            .order_by(items.c.revision)
        )

    def retired(self, after: int) -> NDArray[np.int64]:
        """The revisions that were replaced or deleted by a change later than `after`."""
        return self._numbers(
            select(retired.c.was).where(
                retired.c.collection == self.collection, retired.c.revision > after
            )
        )

    def matching(self, where: Mapping[str, Any]) -> NDArray[np.int64]:
        """The revisions of the items that a metadata filter lets through."""
        return self._numbers(matching(self.collection, where))

    def bags(self, after: int) -> Iterator[BagRow]:
        """The bags of items put later than `after`, by revision and position, as a stream."""
        columns = (bags.c.revision, bags.c.position, items.c.id, bags.c.details, bags.c.vectors)
        stream = self.connection.execution_options(yield_per=64).execute(
            select(*columns)
            .join_from(bags, items)
            .where(bags.c.collection == self.collection, bags.c.revision > after)
            .order_by(bags.c.revision, bags.c.position)
        )
        return (BagRow(*row) for row in stream)

    def _numbers(self, query: Select[tuple[int]]) -> NDArray[np.int64]:
        return np.fromiter(self.connection.execute(query).scalars(), np.int64)


class Catalog:
    """Items of named collections in a database. Safe for many threads and processes.

    What a method has returned for is on disk: a crash at any moment loses nothing of it.
    """

    def __init__(self, url: str) -> None:
        self.reader, self.writer = connect(url)

    @classmethod
    def in_folder(cls, folder: Path) -> Catalog:
        """The SQLite catalog of a data folder, made if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(f"sqlite:///{folder / 'catalog.sqlite'}")

    def close(self) -> None:
        """Let go of the database's connections."""
        self.reader.dispose()

    def collection(self, name: str, *, fingerprint: str, dimension: int, score: str) -> Collection:
        """Open a collection for a model, made if new; ModelMismatch if another model's bags."""
        check_id(name)
        with self.writer.begin() as connection:
            if _find(connection, name) is None:
                new = {"fingerprint": fingerprint, "dimension": dimension, "score": score}
                add_collection(connection, name=name, **new)
            found = _find(connection, name)
        assert found is not None
        if found.fingerprint != fingerprint:
            raise ModelMismatch(
                f"collection {name!r} was made by model {found.fingerprint}, and the model at "
                f"hand is {fingerprint}: `tessera index --reembed` re-embeds the collection, or "
                "choose the model that made it"
            )
        return found

    def find(self, name: str) -> Collection:
        """A collection as it is; LookupError names the ones there are."""
        with self.reader.begin() as connection:
            found = _find(connection, name)
        if found is None:
            known = ", ".join(one.name for one in self.collections()) or "none yet"
            raise LookupError(f"no collection {name!r}; there are: {known}")
        return found

    def collections(self) -> list[Collection]:
        """All collections by name."""
        named = select(collections).where(collections.c.name.is_not(None))
        with self.reader.begin() as connection:
            return [_collection(row) for row in connection.execute(named.order_by("name"))]

    def put(self, collection: Collection, entry: Entry) -> int:
        """Store an item in place of what its id had before; gives its revision."""
        return self.put_many(collection, [entry])[0]

    def put_many(self, collection: Collection, entries: Sequence[Entry]) -> list[int]:
        """Store items in one transaction: all of them or none."""
        check_dimension(collection, entries)
        with self.writer.begin() as connection:
            last = advance(connection, collection, len(entries))
            revisions = list(range(last - len(entries) + 1, last + 1))
            for revision, entry in zip(revisions, entries, strict=True):
                write_entry(connection, collection.key, revision, entry)
        return revisions

    def delete(self, collection: Collection, item: str) -> int:
        """Delete an item; gives the revision of the change, LookupError for an unknown id."""
        with self.writer.begin() as connection:
            revision = advance(connection, collection, 1)
            if not retire(connection, collection.key, revision, item):
                raise _unknown(collection, item)
        return revision

    def get(self, collection: Collection, item: str) -> Item:
        """An item without its picture and bags; LookupError for an unknown id."""
        with self.reader.begin() as connection:
            return read_items(connection, collection.key, [_row(connection, collection, item)])[0]

    def get_many(self, collection: Collection, ids: Sequence[str]) -> dict[str, Item]:
        """Those of the items that are there, by id."""
        chosen = select_items(collection.key).where(items.c.id.in_(ids))
        with self.reader.begin() as connection:
            rows = connection.execute(chosen).all()
            return {item.id: item for item in read_items(connection, collection.key, rows)}

    def entry(self, collection: Collection, item: str) -> Entry:
        """An item with its picture and bags; LookupError for an unknown id."""
        with self.reader.begin() as connection:
            return read_entries(connection, collection, [_row(connection, collection, item)])[0]

    def picture(self, collection: Collection, item: str) -> Picture:
        """An item's picture; LookupError for an unknown id or an item without one."""
        with self.reader.begin() as connection:
            row = _row(connection, collection, item)
            picture = read_picture(connection, collection.key, row.revision)
        if picture is None:
            raise LookupError(f"item {item!r} has sentences but no picture")
        return picture

    def list_items(
        self,
        collection: Collection,
        *,
        after: str = "",
        limit: int = 100,
        where: Mapping[str, Any] | None = None,
    ) -> list[Item]:
        """Items by id, from the first one behind `after`, that the metadata filter lets through."""
        chosen = select_items(collection.key).where(items.c.id > after)
        if where:
            chosen = chosen.where(items.c.revision.in_(matching(collection.key, where)))
        with self.reader.begin() as connection:
            rows = connection.execute(chosen.order_by(items.c.id).limit(limit)).all()
            return read_items(connection, collection.key, rows)

    def count(self, collection: Collection) -> int:
        """How many items there are."""
        here = items.c.collection == collection.key
        with self.reader.begin() as connection:
            return connection.execute(
                select(func.count()).select_from(items).where(here)
            ).scalar_one()

    def stamps(self, collection: Collection) -> dict[str, str | None]:
        """How each source looked when it was imported: what an import may skip."""
        chosen = select(items.c.source, items.c.stamp).where(
            items.c.collection == collection.key, items.c.source.is_not(None)
        )
        with self.reader.begin() as connection:
            return {row.source: row.stamp for row in connection.execute(chosen)}

    @contextmanager
    def reading(self, collection: Collection) -> Iterator[View]:
        """One consistent view of a collection; ModelMismatch if it was re-embedded since."""
        revision = select(collections.c.revision).where(collections.c.key == collection.key)
        with self.reader.begin() as connection:
            current = connection.execute(revision).scalar()
            if current is None:
                raise _replaced(collection)
            yield View(connection, collection.key, current)


def add_collection(connection: Connection, **values: Any) -> int:
    """A new, empty collection's key."""
    row = {"token": uuid4().hex, "revision": 0, "copied": 0} | values
    key: int = connection.execute(
        insert(collections).returning(collections.c.key), row
    ).scalar_one()
    return key


def advance(connection: Connection, collection: Collection, changes: int) -> int:
    """Take the next revisions of a collection; gives the last. Other writers wait here."""
    taken = (
        update(collections)
        .where(collections.c.key == collection.key)
        .values(revision=collections.c.revision + changes)
        .returning(collections.c.revision)
    )
    revision: int | None = connection.execute(taken).scalar()
    if revision is None:
        raise _replaced(collection)
    return revision


def _replaced(collection: Collection) -> ModelMismatch:
    return ModelMismatch(
        f"collection {collection.name!r} no longer holds the bags of model "
        f"{collection.fingerprint}: another model has re-embedded it; open it again with that one"
    )


def _unknown(collection: Collection, item: str) -> LookupError:
    return LookupError(f"no item {item!r:.220} in collection {collection.name!r}")


def _row(connection: Connection, collection: Collection, item: str) -> Row[Any]:
    here = select_items(collection.key).where(items.c.id == item)
    row = connection.execute(here).one_or_none()
    if row is None:
        raise _unknown(collection, item)
    return row


def _find(connection: Connection, name: str) -> Collection | None:
    row = connection.execute(select(collections).where(collections.c.name == name)).one_or_none()
    return None if row is None else _collection(row)


def _collection(row: Row[Any]) -> Collection:
    return Collection(row.key, row.token, row.name, row.fingerprint, row.dimension, row.score)
