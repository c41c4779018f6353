"""The catalog: the items of collections in a database, where every change has a revision."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

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
from index.catalog.sweeping import SHARE, Sweep, SweepLimits
from index.catalog.write_rows import Replacing, record, retire, write
from index.database.engines import connect, url_of
from index.database.errors import FULL, REFUSES, DiskRefuses, StoreAway
from index.database.storage import Storage
from index.database.tables import setting
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

COUNTED = ("items", "facets", "bags", "pictures")  # tables that filters and lists join
PAUSE = 0.05  # seconds between transactions that delete garbage


class Catalog(CatalogReader):
    """Items of named collections in a database. Safe for many threads and processes.

    What a method has returned for is on disk: a crash at any moment loses nothing of it.
    """

    def __init__(
        self, storage: Storage, pictures: Pictures | None = None, claim: OwnershipClaim = REFUSE
    ) -> None:
        """Open a catalog, made if it is not there, with other pictures than the storage's.

        ValueError if this version of Tessera cannot use it, Foreign if the data folder or the
        pictures belong to another catalog (see Claim); OSError if it cannot be opened.
        """
        url = url_of(storage.database, storage.folder)
        refuse_new(storage, url, claim)
        storage.folder.mkdir(parents=True, exist_ok=True)
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
        self._acknowledged: dict[int, int] = {}
        self._lock = Lock()

    @classmethod
    def in_folder(cls, folder: Path) -> Catalog:
        """The SQLite catalog of a data folder with its pictures."""
        return cls(Storage(folder))

    def _settle(self, claim: OwnershipClaim) -> None:
        """Make sure that the folder and the pictures are this catalog's; else close it."""
        try:
            self.ownership.settle(claim)
        except StoreAway:  # searches need no pictures, and nothing is stored before this was asked
            if claim.mode == "adopt":
                self.close()
                raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the database's connections."""
        self.reader.dispose()

    def check_pictures(self) -> None:
        """OSError, which says what is wrong, where pictures cannot be stored."""
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
        """Store an item; gives its revision and the one it replaced, 0 if it is new.

        ConditionFailed, and nothing is stored, if that is not the one that was expected.
        """

        def check(was: Mapping[str, int]) -> None:
            expected.check(entry.id, was.get(entry.id, 0))

        (revision,), was = self._store(collection, [entry], check)
        return revision, was.get(entry.id, 0)

    def put_many(
        self, collection: Collection, entries: Sequence[Entry], name: str | None = None
    ) -> list[int]:
        """Store items in one transaction: all of them or none. NoSpace if the disk is full.

        Replaced, with a name, unless that stands for the collection at the time.
        """
        return self._store(collection, entries, lambda _: None, name)[0] if entries else []

    def _store(
        self,
        collection: Collection,
        entries: Sequence[Entry],
        check: Callable[[Replacing], None],
        name: str | None = None,
    ) -> tuple[list[int], Replacing]:
        """Store items; `check` may refuse, by an exception, what they replace."""
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
        """A transaction that writes rows that name these pictures. NoSpace if the disk is full."""
        with room():
            if shown:
                self.ownership.confirm()
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
                raise error_of_unknown(collection, item)
        self.acknowledge(collection, revision)
        return revision

    def read_acknowledged(self, collection: Collection) -> int:
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
            raise error_of_replaced(collection)
        collector.give_back()
        return floor

    def keep_marks(self, collection: Collection, revisions: Iterable[int]) -> None:
        """Keep the marks that View.mark gives for revisions, as purge does.

        Several hosts may follow one catalog: each says which marks the segments on its disk need.
        """
        with self.writer.begin() as connection:
            garbage.keep_marks(connection, collection.key, revisions)

    def sweep(self, segments: Path | None = None, share: float = SHARE) -> Sweep:
        """Delete what interruptions left behind, in small transactions; safe at any time.

        Deletes collections that were replaced, pictures that no item has (see
        index.catalog.sweeping), up to a share of the store, and in the folder `segments` the
        subfolders of tokens that no collection has.
        """
        collector = self._collector()
        collector.sweep_collections()
        outcome = collector.sweep_pictures(SweepLimits(self.storage.sweep_after, share))
        collector.give_back()
        if segments is not None:
            garbage.sweep_segments(self.reader, segments, self.ownership.has_folder)
        return outcome

    def preview_sweep(self, share: float = SHARE) -> Sweep:
        """The pictures that a sweep would delete; nothing is."""
        limits = SweepLimits(self.storage.sweep_after, share, dry=True)
        return self._collector().sweep_pictures(limits)

    def sweep_collections(self) -> None:
        """Delete collections that were replaced, as part of sweep."""
        self._collector().sweep_collections()

    def renew_statistics(self) -> None:
        """Have PostgreSQL count anew how rows are spread, by which it plans its queries.

        It does so by itself once a tenth of a table is new, of all collections together. Of one
        that is small beside others it would believe that it is empty, and join a filter with its
        items by reading everything that passes for each of them. SQLite needs no statistics.
        """
        if self.reader.dialect.name == "postgresql":
            with self.writer.begin() as connection:
                connection.exec_driver_sql(f"ANALYZE (SKIP_LOCKED) {', '.join(COUNTED)}")

    def _collector(self) -> Collector:
        owned = self.ownership.has_pictures
        return Collector(self.reader, self.exclusive, self.pictures, owned, PAUSE)


def pictures_of(storage: Storage) -> Pictures:
    """The picture store of a storage."""
    if "://" in storage.pictures:
        return ObjectPictures.at(storage.pictures)
    return FolderPictures(Path(storage.pictures or storage.folder / "pictures"))


@contextmanager
def room() -> Iterator[None]:
    """Tell a disk of pictures that is full or refuses, as the database does for itself."""
    try:
        yield
    except OSError as failed:
        if failed.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(FULL) from failed
        if failed.errno in (errno.EROFS, errno.EIO):
            raise DiskRefuses(f"{REFUSES} ({failed.strerror})") from failed
        raise
