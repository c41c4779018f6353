"""Photo search with order and facets over all probable photos."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from app.engine.engine import Engine
from app.telemetry.requests import stage
from index.items import Collection, Item
from index.listing.requests import ListRequest
from index.photos import dates
from index.photos.dates import QueryDate
from index.photos.requests import PhotoCounts, PhotoPage
from index.photos.search import PhotoList
from index.photos.words import PhotoWords
from index.search.requests import Request, WordGains
from models.text.queries import Query


@dataclass(frozen=True, slots=True)
class ListedPhotos:
    """Counted photos, and a page of their items by id if one was asked for."""

    counts: PhotoCounts
    page: PhotoPage | None
    items: dict[str, Item]


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


def score_words(engine: Engine, words: PhotoWords, revision: int, query: Query) -> float:
    """Score an item's words for a query."""
    if words.gains is None:
        return 0.0
    calibration = engine.models.calibration
    scale = calibration.score_of_odds(query) if calibration else 1.0
    return float(replace(words.gains, scale=scale).scores_of(np.array([revision]))[0])


def find_weak_line(
    engine: Engine, collection: str, query: Query, words: WordGains | None
) -> float | None:
    """The probability below which photos are weak hits of a query, with any filter."""
    answer, _ = engine.search(collection, Request("images", query, limit=1, words=words))
    return engine.models.weak_below if answer.weak_below is None else answer.weak_below


def list_photos(
    engine: Engine, collection: str, search: Request, request: ListRequest, *, paged: bool
) -> ListedPhotos:
    """Count the photos of a search, and list a page of them if asked to.

    Errors are those of index.search.index.Index.best.
    """
    return engine.read(collection, _list, engine, search, request, paged)


def _list(
    home: Collection, engine: Engine, search: Request, request: ListRequest, paged: bool
) -> ListedPhotos:
    with stage("search"):
        listed = PhotoList(engine.indexes.of(home), search)
        counts = listed.count(request)
        page = listed.find_page(request) if paged else None
    if page is None:
        return ListedPhotos(counts, None, {})
    damaged = set(page.damaged)
    items = engine.catalog.get_many(home, page.ids, damaged)
    page = replace(page, damaged=frozenset(damaged))
    return ListedPhotos(counts, page, {at: items[at] for at in page.ids if at in items})
