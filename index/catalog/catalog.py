"""The catalog: items of collections in a database.

Every change has a revision.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from index.catalog import garbage
from index.catalog.garbage import Collector
from index.catalog.names import Names, check_standing
from index.catalog.object_store import ObjectPictures
from index.catalog.ownership import REFUSE, Ownership, OwnershipClaim, refuse_new
from index.catalog.pictures import FolderPictures, Pictures
from index.catalog.read_rows import error_of_unknown
from index.catalog.reader import CatalogReader
from index.catalog.revisions import advance, error_of_replaced
from index.catalog.sweeping import SHARE, PictureSweeper, Sweep, SweepLimits
from index.catalog.write_rows import Replacing, record, remember_photos, retire, write
from index.database.engines import connect, url_of
from index.database.errors import FULL, REFUSES, DiskRefuses, StoreAway
from index.database.storage import Storage
from index.database.tables import check_rights, setting
from index.items import (
    ANY,
    Collection,
    Entry,
    Expected,
    NoSpace,
    check_dimension,
    check_size,
)
from index.metadata import check_values

COUNTED = ("items", "facets", "bags", "pictures")  # tables of joins, for statistics
PRIVATE = 0o700  # of a new data folder, as its database has secrets
PAUSE = 0.05  # seconds between transactions that delete garbage


class Catalog(CatalogReader):
    """Items of named collections in a database.

    Safe for many threads and processes.
    Once a method returns, its changes are on disk: no crash loses them.
    """

    def __init__(
        self, storage: Storage, pictures: Pictures | None = None, claim: OwnershipClaim = REFUSE
    ) -> None:
        """Open a catalog, made if missing; `pictures` replaces the storage's.

        ValueError if this version of Tessera cannot use it, ForeignCatalog if the data folder or
        the pictures belong to another catalog (see OwnershipClaim); OSError if it cannot be opened.
        """
        url = url_of(storage.database, storage.folder)
        refuse_new(storage, url, claim)
        storage.folder.mkdir(PRIVATE, parents=True, exist_ok=True)
        engines = connect(url, storage.wait)
        super().__init__(
            storage, engines.reader, pictures_of(storage) if pictures is None else pictures
        )
        self.writer, self.exclusive = engines.writer, engines.exclusive  # see Engines
        roles = (engines.reader, engines.exclusive)
        self.ownership = Ownership(storage, url, roles, self.pictures)
        self._settle(claim)
        self.names = Names(self.reader, self.exclusive)
        try:
            with self.reader.begin() as connection:
                self.secret = setting(connection, "secret").encode()
        except BaseException:
            self.reader.dispose()
            raise

    @classmethod
    def in_folder(cls, folder: Path) -> Catalog:
        """Open the SQLite catalog of a data folder with its pictures."""
        return cls(Storage(folder))

    def _settle(self, claim: OwnershipClaim) -> None:
        """Check that folder and pictures are this catalog's; else close it."""
        try:
            self.ownership.settle(claim)
        except StoreAway:  # searches need no pictures; the store is asked again before a put
            if claim.mode == "adopt":
                self.close()
                raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the database's connections."""
        self.reader.dispose()

    def check_rights(self) -> None:
        """Raise RightsLacking if the database's user may not change items."""
        with self.reader.begin() as connection:
            check_rights(connection)

    def check_pictures(self) -> None:
        """Raise OSError with the reason if pictures cannot be stored."""
        try:
            self.pictures.check()
        except OSError as failed:
            place = self.storage.pictures or self.storage.folder / "pictures"
            cause = str(failed.__cause__ or "").partition("\n")[0]
            why = f"{failed} ({cause})" if cause else str(failed)
            raise OSError(f"pictures cannot be kept at {place}: {why}") from failed

    def replace(
        self, collection: Collection, entry: Entry, expected: Expected = ANY
    ) -> tuple[int, int]:
        """Store an item.

        Returns its revision and the replaced one, 0 if it is new.
        Raises ConditionFailed, and stores nothing, if the replaced one was not expected.
        """

        def check(was: Mapping[str, int]) -> None:
            expected.check(entry.id, was.get(entry.id, 0))

        (revision,), was = self._store(collection, [entry], check)
        return revision, was.get(entry.id, 0)

    def put_many(
        self, collection: Collection, entries: Sequence[Entry], name: str | None = None
    ) -> list[int]:
        """Store all items or none in one transaction.

        NoSpace if the disk is full.
        With a name, raises Replaced unless it stands for the collection at the time.
        """
        return self._store(collection, entries, lambda _: None, name)[0] if entries else []

    def _store(
        self,
        collection: Collection,
        entries: Sequence[Entry],
        check: Callable[[Replacing], None],
        name: str | None = None,
    ) -> tuple[list[int], Replacing]:
        """Store items; `check` may refuse replaced revisions by an exception."""
        check_dimension(collection, entries)
        for entry in entries:
            check_values(entry.metadata)
            check_size(entry.id, entry.metadata, entry.sentences, self.storage.item_text)
        records = [record(entry) for entry in entries]
        shown = {
            row["name"]: picture.jpeg
            for record, entry in zip(records, entries, strict=True)
            for row, picture in zip(record.pictures, entry.pictures, strict=True)
        }
        with self.storing(shown) as connection:
            if name is not None:
                check_standing(connection, name, collection)
            last = advance(connection, collection, len(entries))
            revisions = list(range(last - len(entries) + 1, last + 1))
            was = write(connection, collection.key, revisions[0], records)
            check(was)
        self.acknowledge(collection, last)
        return revisions, was

    @contextmanager
    def storing(self, shown: Mapping[str, bytes]) -> Iterator[Connection]:
        """Begin a transaction for rows with these pictures' names.

        NoSpace if the disk is full.
        """
        with room():
            if shown:
                self.ownership.confirm()
                self.pictures.put(shown)  # first, so that every picture named by a row exists
            with self.writer.begin() as connection:
                yield connection
                # A sweep may have deleted them as garbage; now that they have rows, it cannot.
                if lost := self.pictures.missing(shown):
                    self.pictures.put({name: shown[name] for name in lost})

    def delete(
        self,
        collection: Collection,
        item: str,
        expected: Expected = ANY,
        *,
        remember: bool = False,
    ) -> int:
        """Delete an item; return the revision of the change.

        With `remember`, imports leave its photos out (see index.database.deleted_photos).
        LookupError for an unknown id.
        Raises ConditionFailed if it is not at an expected revision.
        """
        with self.writer.begin() as connection:
            revision = advance(connection, collection, 1)
            if remember:
                remember_photos(connection, collection, [item])
            was = retire(connection, collection.key, {item: revision}).get(item, 0)
            expected.check(item, was)
            if not was:
                raise error_of_unknown(collection, item)
        self.acknowledge(collection, revision)
        return revision

    def purge(self, collection: Collection, until: int, marks: Iterable[int] = ()) -> int:
        """Forget retirements up to a revision, once every reader has passed it.

        Deletes their pictures unless another row names them, and lets SQLite give free pages back.
        A re-embedding that is not this far is a reader too: the floor stays. Returns the floor that
        was reached (see CatalogView). Marks of changes before it go as well, except those that
        CatalogView.mark returns for the revisions in `marks`: name those up to which segments on
        disk were built, so that they can still prove their history.
        """
        collector = self._collector()
        floor = collector.purge(collection.key, until, marks)
        if floor is None:
            raise error_of_replaced(collection)
        collector.give_back()
        return floor

    def keep_marks(self, collection: Collection, revisions: Iterable[int]) -> None:
        """Keep the marks that CatalogView.mark returns for revisions, as purge does.

        Several hosts may follow one catalog: each names the marks that its segments need.
        """
        with self.writer.begin() as connection:
            garbage.keep_marks(connection, collection.key, revisions)

    def sweep(self, segments: Path | None = None, share: float = SHARE) -> Sweep:
        """Delete garbage of interruptions in small transactions; safe at any time.

        Deletes collections that were replaced, pictures that no item has (see
        index.catalog.sweeping), up to a share of the store, and in the folder `segments` the
        subfolders of tokens that no collection has.
        """
        collector = self._collector()
        collector.sweep_collections()
        outcome = self._sweeper().sweep(SweepLimits(self.storage.sweep_after, share))
        collector.give_back()
        if segments is not None:
            garbage.sweep_segments(self.reader, segments, self.ownership.has_folder)
        return outcome

    def preview_sweep(self, share: float = SHARE) -> Sweep:
        """List the pictures that a sweep would delete, and delete none."""
        limits = SweepLimits(self.storage.sweep_after, share, dry=True)
        return self._sweeper().sweep(limits)

    def sweep_collections(self) -> None:
        """Delete collections that were replaced, as part of sweep."""
        self._collector().sweep_collections()

    def renew_statistics(self) -> None:
        """Renew the statistics by which PostgreSQL plans queries.

        PostgreSQL does so by itself once a tenth of a table is new, over all collections. It would
        believe that a small new collection is empty, and join a filter with its
        items by reading everything that passes for each of them. SQLite needs no statistics.
        """
        if self.reader.dialect.name == "postgresql":
            with self.writer.begin() as connection:
                connection.exec_driver_sql(f"ANALYZE (SKIP_LOCKED) {', '.join(COUNTED)}")

    def _collector(self) -> Collector:
        return Collector(self.exclusive, self._sweeper(), PAUSE)

    def _sweeper(self) -> PictureSweeper:
        owned = self.ownership.has_pictures
        return PictureSweeper(self.reader, self.exclusive, self.pictures, owned, PAUSE)


def pictures_of(storage: Storage) -> Pictures:
    """Open the picture store of a storage."""
    if "://" in storage.pictures:
        return ObjectPictures.at(storage.pictures)
    return FolderPictures(Path(storage.pictures or storage.folder / "pictures"))


@contextmanager
def room() -> Iterator[None]:
    """Translate errors of a full or read-only picture disk."""
    try:
        yield
    except OSError as failed:
        if failed.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(FULL) from failed
        if failed.errno in (errno.EROFS, errno.EIO):
            raise DiskRefuses(f"{REFUSES} ({failed.strerror})") from failed
        raise
