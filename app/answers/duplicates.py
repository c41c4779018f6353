"""Near-duplicates as JSON: the series of a collection, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.answers.cursors import Cursors, name_of_list
from app.answers.items import about_photo, photo_address_of
from app.engine.engine import Engine
from app.schemas.duplicates import DuplicateOut, DuplicatesOut, SeriesOut
from index.catalog.reader import CatalogReader
from index.database import series_rows
from index.database.series_rows import SeriesMember
from index.items import Collection, Item

SHOWN = 100  # photos of a series


@dataclass(frozen=True, slots=True)
class Series:
    """A series with its items, the largest first."""

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
    series = (
        Series(name, sorted(of_it, key=lambda member: (-member.size, member.id)))
        for name, of_it in members.items()
    )
    return sorted(series, key=lambda each: each.place)


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
    return DuplicatesOut(
        collection=collection,
        series=len(every),
        photos=sum(len(series.members) for series in every),
        bytes=sum(series.spare for series in every),
        groups=[_make_series(collection, series, items) for series in page],
        cursor=cursors.write(kind, page[-1].place) if len(left) > limit else None,
    )


def _make_series(collection: str, series: Series, items: Mapping[str, Item]) -> SeriesOut:
    shown = [member for member in series.members[:SHOWN] if member.id in items]
    digests = _digests_of(items[shown[0].id]) if shown else []
    return SeriesOut(
        series=series.name,
        photos=len(series.members),
        bytes=series.spare,
        items=[
            DuplicateOut(
                id=member.id,
                bytes=member.size,
                largest=at == 0,
                same_file=at > 0
                and member.size == shown[0].size
                and _digests_of(items[member.id]) == digests,
                taken=_read_taken(items[member.id]),
                image=photo_address_of(collection, items[member.id]),
                **about_photo(collection, member.id, items[member.id].photos, 0),
            )
            for at, member in enumerate(shown)
        ],
    )


def _digests_of(item: Item) -> list[str]:
    return [photo.digest for photo in item.photos]


def _read_taken(item: Item) -> str | None:
    taken = item.metadata.get("taken")
    return taken if isinstance(taken, str) else None
