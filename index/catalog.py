"""The catalog: the items of collections in a database, where every change has a revision."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, func, select

from index import garbage
from index.database import connect, url_of
from index.facets import matching
from index.failures import FULL
from index.garbage import Collector
from index.items import (
    ANY,
    Collection,
    Entry,
    Expected,
    Item,
    NoSpace,
    Picture,
    check_dimension,
    check_photo,
)
from index.lookup import Stored, read_bags
from index.names import Names
from index.objects import ObjectPictures
from index.pictures import FolderPictures, PictureLost, Pictures
from index.records import Replacing, record, retire, write
from index.revisions import advance, live, replaced, state_of, unless_gone
from index.storage import Storage
from index.stored_items import (
    chunks,
    picture_rows,
    read_entries,
    read_items,
    read_picture,
    row_of,
    select_items,
    unknown,
)
from index.tables import items, setting
from index.views import View

PAUSE = 0.05  # seconds between transactions that delete garbage
Read = TypeVar("Read")


class Catalog:
    """Items of named collections in a database. Safe for many threads and processes.

    What a method has returned for is on disk: a crash at any moment loses nothing of it.
    """

    def __init__(self, storage: Storage, pictures: Pictures | None = None) -> None:
        """Open a catalog, made if it is not there, with other pictures than the storage's.

        ValueError if this version of Tessera cannot use it; OSError if it cannot be opened.
        """
        storage.folder.mkdir(parents=True, exist_ok=True)
        self.storage = storage
        engines = connect(url_of(storage.database, storage.folder), storage.wait)
        self.reader, self.writer = engines.reader, engines.writer
        self.exclusive = engines.exclusive  # see Engines
        self.names = Names(self.reader, self.exclusive)
        self.pictures = pictures_of(storage) if pictures is None else pictures
        with self.reader.begin() as connection:
            self.secret = setting(connection, "secret").encode()
        self._acknowledged: dict[int, int] = {}
        self._lock = Lock()

    @classmethod
    def in_folder(cls, folder: Path) -> Catalog:
        """The SQLite catalog of a data folder with its pictures."""
        return cls(Storage(folder))

    def close(self) -> None:
        """Let go of the database's connections."""
        self.reader.dispose()

    def collection(self, name: str, *, fingerprint: str, dimension: int, score: str) -> Collection:
        """See Names.make."""
        return self.names.make(name, fingerprint=fingerprint, dimension=dimension, score=score)

    def find(self, name: str) -> Collection:
        """See Names.find."""
        return self.names.find(name)

    def collections(self) -> list[Collection]:
        """See Names.all."""
        return self.names.all()

    def put(self, collection: Collection, entry: Entry) -> int:
        """Store an item in place of what its id had before; gives its revision."""
        return self.replace(collection, entry)[0]

    def replace(
        self, collection: Collection, entry: Entry, expected: Expected = ANY
    ) -> tuple[int, int]:
        """Store an item; gives its revision and the one it replaced, 0 if it is new.

        ConditionFailed, and nothing is stored, if that is not the one that was expected.
        """

        def check(was: Mapping[str, int]) -> None:
            expected.check(entry.id, was.get(entry.id, 0))

        (revision,), was = self._store(collection, [entry], check)
        return revision, was.get(entry.id, 0)

    def put_many(self, collection: Collection, entries: Sequence[Entry]) -> list[int]:
        """Store items in one transaction: all of them or none. NoSpace if the disk is full."""
        return self._store(collection, entries, lambda _: None)[0] if entries else []

    def _store(
        self, collection: Collection, entries: Sequence[Entry], check: Callable[[Replacing], None]
    ) -> tuple[list[int], Replacing]:
        """Store items; `check` may refuse, by an exception, what they replace."""
        check_dimension(collection, entries)
        records = [record(entry) for entry in entries]
        shown = {
            row["name"]: picture.jpeg
            for one, entry in zip(records, entries, strict=True)
            for row, picture in zip(one.pictures, entry.pictures, strict=True)
        }
        with self.storing(shown) as connection:
            last = advance(connection, collection, len(entries))
            revisions = list(range(last - len(entries) + 1, last + 1))
            was = write(connection, collection.key, revisions[0], records)
            check(was)
        self.acknowledge(collection, last)
        return revisions, was

    @contextmanager
    def storing(self, shown: Mapping[str, bytes]) -> Iterator[Connection]:
        """A transaction that writes rows that name these pictures. NoSpace if the disk is full."""
        with room():
            if shown:
                self.pictures.put(shown)  # first, so that every picture that a row names is there
            with self.writer.begin() as connection:
                yield connection
                # A sweep may have taken them for garbage; now that their rows are here, it cannot.
                if lost := self.pictures.missing(shown):
                    self.pictures.put({name: shown[name] for name in lost})

    def delete(self, collection: Collection, item: str, expected: Expected = ANY) -> int:
        """Delete an item; gives the revision of the change, LookupError for an unknown id.

        ConditionFailed if it is not at a revision that was expected.
        """
        with self.writer.begin() as connection:
            revision = advance(connection, collection, 1)
            was = retire(connection, collection.key, {item: revision}).get(item, 0)
            expected.check(item, was)
            if not was:
                raise unknown(collection, item)
        self.acknowledge(collection, revision)
        return revision

    def revision(self, collection: Collection) -> int:
        """The revision of the newest change; Replaced if the collection is gone."""
        with self.reader.begin() as connection:
            revision: int = state_of(connection, collection).revision
        return revision

    def acknowledged(self, collection: Collection) -> int:
        """The newest revision that a search must include: what this process has written, or any.

        Of a storage that is not shared, the database is not asked.
        """
        if self.storage.shared:
            return self.revision(collection)
        return self._acknowledged.get(collection.key, 0)

    def acknowledge(self, collection: Collection, revision: int) -> None:
        """Note a revision that this process has written."""
        with self._lock:
            newest = max(revision, self._acknowledged.get(collection.key, 0))
            self._acknowledged[collection.key] = newest

    def get(self, collection: Collection, item: str) -> Item:
        """An item without its pictures and bags; LookupError for an unknown id."""
        with self.reader.begin() as connection:
            return read_items(connection, collection.key, [row_of(connection, collection, item)])[0]

    def get_many(self, collection: Collection, ids: Sequence[str]) -> dict[str, Item]:
        """Those of the items that are there, by id."""
        chosen = select_items(collection.key).where(items.c.id.in_(ids))
        with self.reader.begin() as connection:
            rows = unless_gone(connection, collection, connection.execute(chosen).all())
            return {item.id: item for item in read_items(connection, collection.key, rows)}

    def entry(self, collection: Collection, item: str) -> Entry:
        """An item with its pictures and bags; LookupError for an unknown id.

        PictureLost if a picture is missing from the store, or damaged.
        """

        def read(connection: Connection) -> Entry:
            row = row_of(connection, collection, item)
            return read_entries(connection, collection, [row], self.pictures)[0]

        return self.read_pictures(read)

    def bags(
        self, collection: Collection, keys: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], Stored]:
        """The bags with these revisions and positions that are still there."""
        with self.reader.begin() as connection:
            return read_bags(connection, collection, keys)

    def picture(self, collection: Collection, item: str, photo: int = 0) -> Picture:
        """One of an item's pictures; LookupError for an unknown id or no photo of this number.

        PictureLost if it is missing from the store, or damaged.
        """

        def read(connection: Connection) -> Picture:
            revision = row_of(connection, collection, item).revision
            rows = picture_rows(connection, collection.key, [revision])[revision]
            check_photo(item, photo, len(rows))
            return read_picture(item, rows[photo], self.pictures)

        return self.read_pictures(read)

    def read_pictures(self, read: Callable[[Connection], Read]) -> Read:
        """Read rows and their pictures in one transaction.

        A picture that is missing may be one that was replaced since the transaction began: then a
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
    ) -> list[Item]:
        """Items by id, from the first one behind `after`, that the metadata filter lets through."""
        chosen = select_items(collection.key).where(items.c.id > after)
        if where:
            chosen = chosen.where(items.c.revision.in_(matching(collection.key, where)))
        with self.reader.begin() as connection:
            found = connection.execute(chosen.order_by(items.c.id).limit(limit)).all()
            rows = unless_gone(connection, collection, found)
            return read_items(connection, collection.key, rows)

    def count(self, collection: Collection) -> int:
        """How many items there are."""
        here = items.c.collection == live(collection.key)
        with self.reader.begin() as connection:
            return connection.execute(
                select(func.count()).select_from(items).where(here)
            ).scalar_one()

    def stamps(self, collection: Collection, sources: Sequence[str]) -> dict[str, str | None]:
        """How those of the sources that were imported looked then: what an import may skip."""
        found: dict[str, str | None] = {}
        with self.reader.begin() as connection:
            for part in chunks(sources):
                chosen = (
                    select(items.c.source, items.c.stamp)
                    .where(items.c.collection == live(collection.key), items.c.source.in_(part))
                    .order_by(items.c.revision)
                )
                found.update((row.source, row.stamp) for row in connection.execute(chosen))
        return found

    def keys(self, collection: Collection) -> list[str]:
        """The metadata keys that items have."""
        with self.reading(collection) as view:
            return view.keys()

    @contextmanager
    def reading(self, collection: Collection) -> Iterator[View]:
        """One consistent view of a collection; Replaced if it is gone."""
        with self.reader.begin() as connection:
            state = state_of(connection, collection)
            yield View(
                connection, collection.key, state.revision, state.floor, self.storage.buckets
            )

    def purge(self, collection: Collection, until: int, marks: Iterable[int] = ()) -> int:
        """Forget which items were retired up to a revision, once every reader has passed it.

        Their pictures go, unless another row names them, and SQLite gives free pages back. A
        re-embedding that has not come this far is a reader too: the floor stays where it is.
        Gives the floor that was reached (see View). Marks of changes before the floor go as well,
        but for those that View.mark gives for the revisions in `marks`: name those up to which
        segments on disk were built, so that they can still prove that they belong here.
        """
        collector = self._collector()
        floor = collector.purge(collection.key, until, marks)
        if floor is None:
            raise replaced(collection)
        collector.give_back()
        return floor

    def keep_marks(self, collection: Collection, revisions: Iterable[int]) -> None:
        """Keep the marks that View.mark gives for revisions, as purge does.

        Several hosts may follow one catalog: each says which marks the segments on its disk need.
        """
        with self.writer.begin() as connection:
            garbage.keep_marks(connection, collection.key, revisions)

    def sweep(self, segments: Path | None = None) -> None:
        """Delete what interruptions left behind, in small transactions; safe at any time.

        That is collections that were replaced, pictures that no item has, and in the folder
        `segments` the subfolders of tokens that no collection has.
        """
        collector = self._collector()
        collector.sweep_collections()
        collector.sweep_pictures()
        collector.give_back()
        if segments is not None:
            garbage.sweep_segments(self.reader, segments)

    def sweep_collections(self) -> None:
        """Delete collections that were replaced, as part of sweep."""
        self._collector().sweep_collections()

    def _collector(self) -> Collector:
        return Collector(self.reader, self.exclusive, self.pictures, PAUSE)


def pictures_of(storage: Storage) -> Pictures:
    """The picture store of a storage."""
    if "://" in storage.pictures:
        return ObjectPictures.at(storage.pictures)
    return FolderPictures(Path(storage.pictures or storage.folder / "pictures"))


@contextmanager
def room() -> Iterator[None]:
    """Tell a full disk of pictures from other failures, as the database does for itself."""
    try:
        yield
    except OSError as failed:
        if failed.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(FULL) from failed
        raise
