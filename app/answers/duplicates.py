"""Near-duplicates as JSON: the series of a collection, page by page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from unicodedata import normalize

from app.answers.cursors import Cursors, name_of_list
from app.answers.items import about_photo, photo_address_of
from app.engine.engine import Engine
from app.imports.folders.moves import split_stamp
from app.schemas.duplicates import DuplicateOut, DuplicatesOut, SeriesOut
from index.catalog.reader import CatalogReader
from index.database import series_rows
from index.database.series_rows import SeriesMember
from index.items import Collection, Item

SHOWN = 100  # photos of a series
# What systems add to the name of a copy: "a (1).jpg", "a copy 2.jpg", "a - Kopie.jpg".
COPY = re.compile(
    r"\(\d{1,2}\)\s*$|[\W_](?:copy|kopie|kopi|kopia|copie|copia|cópia)(?![^\W\d_])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Series:
    """A series with its items, in the order of `sort_members`."""

    name: str
    members: Sequence[SeriesMember]

    @property
    def spare(self) -> int:
        """The bytes of all files but the largest."""
        return sum(member.size for member in self.members[1:])

    @property
    def place(self) -> tuple[int, str]:
        """Its place in the list."""
        return -self.spare, self.name


def list_duplicates(
    engine: Engine, collection: str, limit: int, cursor: str | None = None
) -> DuplicatesOut:
    """List a page of series, those with most bytes to spare first."""
    return engine.read(collection, _list, engine, collection, limit, cursor)


def read_series(catalog: CatalogReader, home: Collection) -> list[Series]:
    """Read all series in order."""
    with catalog.reader.begin() as connection:
        members = series_rows.list_members(connection, home)
    series = (Series(name, sort_members(of_it)) for name, of_it in members.items())
    return sorted(series, key=lambda each: each.place)


def sort_members(
    members: Iterable[SeriesMember], items: Mapping[str, Item] | None = None
) -> list[SeriesMember]:
    """Sort the photos of a series: the one to keep first.

    It is the largest; of the same size, with `items`, one with a date of its own and the earliest
    one; then one without the mark of a copy in its name.
    """

    def rank(member: SeriesMember) -> tuple[int, bool, str, bool, str]:
        item = items.get(member.id) if items else None
        stated = item is not None and item.metadata.get("taken_from", "file") != "file"
        taken = f"{(item and _read_taken(item)) or ''}~"  # an exact time is before its day
        return -member.size, not stated, taken, is_copy(member.id), member.id

    return sorted(members, key=rank)


def is_copy(name: str) -> bool:
    """Return whether a file's name has the mark of a copy.

    >>> [is_copy(name) for name in ("a (1).jpg", "IMG copy 2.JPG", "a - Kopie.jpg", "a_1.jpg")]
    [True, True, True, False]
    """
    return COPY.search(normalize("NFC", PurePath(name).stem)) is not None


def _list(
    home: Collection, engine: Engine, collection: str, limit: int, cursor: str | None
) -> DuplicatesOut:
    cursors, kind = Cursors(engine.catalog.secret), name_of_list("duplicates", collection)
    every = read_series(engine.catalog, home)
    after = None if cursor is None else tuple(cursors.read(cursor, kind))
    left = [series for series in every if after is None or series.place > after]
    page = left[:limit]
    ids = [member.id for series in page for member in series.members[:SHOWN]]
    items = engine.catalog.get_many(home, ids, set())
    page = [_sort_shown(series, items) for series in page]
    return DuplicatesOut(
        collection=collection,
        series=len(every),
        photos=sum(len(series.members) for series in every),
        bytes=sum(series.spare for series in every),
        groups=[_make_series(collection, series, items) for series in page],
        cursor=cursors.write(kind, page[-1].place) if len(left) > limit else None,
    )


def _sort_shown(series: Series, items: Mapping[str, Item]) -> Series:
    """Sort the members to be shown by their items as well."""
    shown, others = series.members[:SHOWN], series.members[SHOWN:]
    return replace(series, members=[*sort_members(shown, items), *others])


def _make_series(collection: str, series: Series, items: Mapping[str, Item]) -> SeriesOut:
    shown = [member for member in series.members[:SHOWN] if member.id in items]
    largest = _content_of(items[shown[0].id]) if shown else ()
    return SeriesOut(
        series=series.name,
        photos=len(series.members),
        bytes=series.spare,
        items=[
            DuplicateOut(
                id=member.id,
                bytes=member.size,
                largest=at == 0,
                same_file=at > 0 and _content_of(items[member.id]) == largest,
                taken=_read_taken(items[member.id]),
                image=photo_address_of(collection, items[member.id]),
                **about_photo(collection, member.id, items[member.id].photos, 0),
            )
            for at, member in enumerate(shown)
        ],
    )


def _content_of(item: Item) -> tuple[str, ...]:
    """Return the size of a photo's file, without its sidecars, and its digests."""
    size = split_stamp(item.stamp or "")[0].partition("-")[0]
    return size, *(photo.digest for photo in item.photos)


def _read_taken(item: Item) -> str | None:
    taken = item.metadata.get("taken")
    return taken if isinstance(taken, str) else None
