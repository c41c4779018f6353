"""New files matched with items by content: renamed, moved, touched."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path, PurePath

from app.engine.engine import Engine
from app.imports.file_metadata.memory import state_of
from app.imports.file_metadata.pairs import is_footage
from app.imports.file_metadata.regular_files import open_regular
from app.imports.folder import is_row
from app.imports.folders.objects import ObjectFolder, StoredObject
from app.imports.sources import ItemSource, PhotoPlace, open_place, stamp_at
from index.catalog.reader import SourceRow
from index.database import deleted_photos
from index.database.deleted_photos import DeletedPhoto
from index.items import Collection, Item

PAGE = 10_000  # items that the catalog lists at a time
FILE_STAMP = re.compile(r"\d+-[^-+ ]+")


@dataclass(slots=True)
class Moves:
    """Items of missing or changed files, for files with their content.

    Both are listed when a first file needs them: an import without changes reads neither.
    """

    engine: Engine
    home: Collection
    most_bytes: int  # of a file that is read
    _left: dict[str, dict[int, list[SourceRow]]] = field(default_factory=dict)  # by store and size
    _gone: set[str] = field(default_factory=set)  # ids of those whose files are missing
    _deleted: dict[int, list[DeletedPhoto]] | None = None  # by size
    _claimed: set[str] = field(default_factory=set)

    def find(self, source: ItemSource, own: str | None) -> Item | None:
        """Find the item of a file's content: `own`, or a moved one.

        The file of a deleted photo takes only what has lost its own file.
        """
        size = _size(source.stamp)
        rows = self._list_left(source).get(size, [])
        deleted = self.list_deleted_here(source) if rows else []
        if deleted:
            rows = [row for row in rows if row.id in self._gone]
        if own is None and not rows:
            return None
        digests = digest_photos(source, self.most_bytes)
        if digests is None:
            return None
        same = {digests, *(photo.digests for photo in deleted if photo.digests)}
        for row in sorted(rows, key=lambda row: _distance(row, source, own)):
            item = self._match(row, source, same)
            if item is not None and (row.id == own or not self._is_still_there(row, digests)):
                self._claimed.add(row.id)
                return item
        return None

    def list_deleted_here(self, source: ItemSource) -> list[DeletedPhoto]:
        """List the deletions of the photo of this very file."""
        photos = self._list_deleted().get(_size(source.stamp), ())
        file = source.place, split_stamp(source.stamp)[0]
        return [photo for photo in photos if (photo.place, split_stamp(photo.stamp)[0]) == file]

    def is_deleted(self, source: ItemSource) -> bool:
        """Return whether someone has deleted a photo with this content."""
        if self.list_deleted_here(source):
            return True
        photos = self._list_deleted().get(_size(source.stamp), ())
        digests = digest_photos(source, self.most_bytes) if photos else None
        return any(photo.digests == digests for photo in photos)

    def is_free(self, item: str) -> bool:
        """Return whether no file has claimed an item."""
        return item not in self._claimed

    def _match(self, row: SourceRow, source: ItemSource, same: Set[tuple[str, ...]]) -> Item | None:
        """Return a row's item if its photos have one of these digests."""
        if row.id in self._claimed:
            return None
        item = self.engine.catalog.get_many(self.home, [row.id]).get(row.id)
        if item is None or item.source != row.source:
            return None
        if tuple(photo.digest for photo in item.photos) in same:
            return item
        of_copies = len(item.photos) > 1 or is_footage(PurePath(row.source))  # not of its bytes
        moved = state_of(row.stamp) == source.stamp and row.id in self._gone
        return item if of_copies and moved else None

    def _is_still_there(self, row: SourceRow, digests: tuple[str, ...]) -> bool:
        """Return whether an item's own file still has its content."""
        if not stamp_at(row.source):
            return False
        try:
            with open_place(row.source) as file:
                return file_digest(file, "sha256").hexdigest() == digests[0]
        except (OSError, ValueError):
            return False

    def _list_left(self, source: ItemSource) -> dict[int, list[SourceRow]]:
        """List items of missing or changed files in a source's store."""
        photo = source.photos[0] if source.photos else None
        url = photo.url if isinstance(photo, StoredObject) else ""
        if url not in self._left:
            left = defaultdict[int, list[SourceRow]](list)
            self._left[url] = left
            look_up = ObjectFolder(url).stamp_at if url else stamp_at
            for row in list_sources(self.engine, self.home, f"{url}/" if url else ""):
                now = None if is_row(row.source) else look_up(row.source)
                if row.stamp and now is not None and split_stamp(row.stamp)[0] != now:
                    left[_size(row.stamp)].append(row)
                    if now == "":
                        self._gone.add(row.id)
        return self._left[url]

    def _list_deleted(self) -> dict[int, list[DeletedPhoto]]:
        if self._deleted is None:
            self._deleted = defaultdict(list)
            for photo in deleted_photos.list_deleted(self.engine.catalog.reader, self.home):
                self._deleted[_size(photo.stamp)].append(photo)
        return self._deleted


def list_sources(engine: Engine, home: Collection, prefix: str = "") -> Iterator[SourceRow]:
    """Yield the imported items with a place of a prefix."""
    after = ""
    while page := engine.catalog.list_sources(home, prefix, after=after, limit=PAGE):
        yield from page
        after = page[-1].id


def digest_photos(source: ItemSource, most_bytes: int) -> tuple[str, ...] | None:
    """Return the SHA-256 digests of a source's photos; None if unreadable."""
    try:
        return tuple(_digest_photos(source.photos, most_bytes))
    except (OSError, ValueError):
        return None


def _digest_photos(photos: Sequence[PhotoPlace], most_bytes: int) -> Iterable[str]:
    for photo in photos:
        if isinstance(photo, StoredObject):
            yield sha256(photo.read(most_bytes)).hexdigest()
            continue
        if not isinstance(photo, Path):
            raise ValueError(f"{photo!r:.50} is no file")
        with open_regular(photo, most_bytes) as file:
            yield file_digest(file, "sha256").hexdigest()


def split_stamp(stamp: str) -> tuple[str, str]:
    """Split a stamp into its file's own and the rest.

    >>> split_stamp("12-34+5-6")
    ('12-34', '+5-6')
    """
    own = FILE_STAMP.match(stamp)
    return (own[0], stamp[own.end() :]) if own else ("", stamp)


def _size(stamp: str) -> int:
    """Return the size in a file's stamp; -1 for other stamps."""
    size = split_stamp(stamp)[0].partition("-")[0]
    return int(size) if size else -1


def _distance(row: SourceRow, source: ItemSource, own: str | None) -> tuple[bool, bool, bool]:
    """Return a sort key: own item, same time, same name first."""
    same_name = PurePath(row.source).name == PurePath(source.place).name
    return row.id != own, state_of(row.stamp) != source.stamp, not same_name
