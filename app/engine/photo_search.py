"""Photo search with order and facets over all probable photos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from app.engine.engine import Engine
from app.telemetry.requests import stage
from index.items import Collection, Item
from index.listing import listing
from index.listing.requests import ListRequest
from index.photos import dates
from index.photos.dates import QueryDate
from index.photos.requests import PhotoCounts, PhotoPage
from index.photos.search import PhotoList
from index.photos.words import PhotoWords
from index.search.requests import Groups, Request, WordGains
from models.text.queries import Query


@dataclass(frozen=True, slots=True)
class ListedPhotos:
    """Counted photos, and a page of their items by id if one was asked for.

    variants: how many items those of some revisions stand for.
    """

    counts: PhotoCounts
    page: PhotoPage | None
    items: dict[str, Item]
    variants: Mapping[int, int] = field(default_factory=dict)


def read_dates(engine: Engine, collection: str, text: str) -> list[QueryDate]:
    """Find the dates in a text, for a collection of photos with dates."""
    return engine.read(collection, _read_dates, engine, text)


def _read_dates(home: Collection, engine: Engine, text: str) -> list[QueryDate]:
    documents = engine.indexes.of(home).documents.current(partial=True)
    with documents.lock:
        years = documents.list_years(dates.KEY)
    return dates.find_dates(text, date.today(), years) if years else []


def read_words(engine: Engine, collection: str, text: str) -> PhotoWords:
    """Look up the words of a text in names, places and descriptions of photos."""
    return engine.read(collection, _read_words, engine, text)


def _read_words(home: Collection, engine: Engine, text: str) -> PhotoWords:
    with stage("search"):
        documents = engine.indexes.of(home).documents.current(partial=True)
        return PhotoWords(text, documents, home.token)


def read_groups(engine: Engine, collection: str, key: str) -> Groups:
    """Read which items have the same value of a key."""
    return engine.read(collection, _read_groups, engine, key)


def _read_groups(home: Collection, engine: Engine, key: str) -> Groups:
    documents = engine.indexes.of(home).documents.current()
    with documents.lock:
        return listing.read_groups(documents, key, home.token)


def find_weak_line(
    engine: Engine, collection: str, query: Query, words: WordGains | None
) -> float | None:
    """The probability below which photos are weak hits of a query, with any filter."""
    answer, _ = engine.search(collection, Request("images", query, limit=1, words=words))
    return engine.models.weak_below if answer.weak_below is None else answer.weak_below


def list_photos(
    engine: Engine,
    collection: str,
    search: Request,
    request: ListRequest,
    shown: Sequence[int] | None = None,
) -> ListedPhotos:
    """Count the photos of a search; list a page of them, or count variants of `shown` revisions.

    Errors are those of index.search.index.Index.best.
    """
    return engine.read(collection, _list, engine, search, request, shown)


def _list(
    home: Collection,
    engine: Engine,
    search: Request,
    request: ListRequest,
    shown: Sequence[int] | None,
) -> ListedPhotos:
    with stage("search"):
        listed = PhotoList(engine.indexes.of(home), search)
        counts, variants = listed.count(request), dict[int, int]()
        page = listed.find_page(request) if shown is None else None
        if shown is not None and request.collapse:
            variants = listed.count_variants(request.collapse, shown)
    if page is None:
        return ListedPhotos(counts, None, {}, variants)
    damaged = set(page.damaged)
    items = engine.catalog.get_many(home, page.ids, damaged)
    page = replace(page, damaged=frozenset(damaged))
    return ListedPhotos(counts, page, {at: items[at] for at in page.ids if at in items})
