"""Photo search with order and facets over all probable photos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from app.engine.engine import Engine
from app.telemetry.requests import stage
from index.items import Collection, Item
from index.listing import listing
from index.listing.requests import ListRequest
from index.photos.dates.days import KEY, QueryDate
from index.photos.dates.query_dates import find_dates
from index.photos.requests import PhotoCounts, PhotoPage
from index.photos.search import PhotoList
from index.photos.words import PhotoWords
from index.search.requests import Answer, Groups, Request, WordGains
from models.text.queries import Query


@dataclass(frozen=True, slots=True)
class ListedPhotos:
    """Counted photos, and a page of their items by id."""

    counts: PhotoCounts
    page: PhotoPage
    items: dict[str, Item]


@dataclass(frozen=True, slots=True)
class RankedPhotos:
    """Counted photos, and a page of the best of them.

    variants: how many items those of its revisions stand for.
    """

    counts: PhotoCounts
    answer: Answer
    items: dict[str, Item]
    variants: Mapping[int, int]


def read_dates(engine: Engine, collection: str, text: str) -> list[QueryDate]:
    """Find the dates in a text, for a collection of photos with dates."""
    return engine.read(collection, _read_dates, engine, text)


def _read_dates(home: Collection, engine: Engine, text: str) -> list[QueryDate]:
    documents = engine.indexes.of(home).documents.current(partial=True)
    with documents.lock:
        years = documents.list_years(KEY)
    return find_dates(text, date.today(), years) if years else []


def read_words(engine: Engine, collection: str, text: str) -> PhotoWords:
    """Look up the words of a text in names, places and descriptions of photos."""
    return engine.read(collection, _read_words, engine, text)


def _read_words(home: Collection, engine: Engine, text: str) -> PhotoWords:
    with stage("search"):
        engine.curate(home)
        documents = engine.indexes.of(home).documents.current(partial=True)
        return PhotoWords(text, documents, home.token)


def read_groups(engine: Engine, collection: str, key: str) -> Groups:
    """Read which items have the same value of a key."""
    return engine.read(collection, _read_groups, engine, key)


def _read_groups(home: Collection, engine: Engine, key: str) -> Groups:
    documents = engine.indexes.of(home).documents.current()
    with documents.lock:
        return listing.read_groups(documents, key, home.token)


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
    engine: Engine, collection: str, search: Request, request: ListRequest
) -> ListedPhotos:
    """Count the photos of a search, and list a page of them.

    Errors are those of index.search.index.Index.best.
    """
    return engine.read(collection, _list, engine, search, request)


def _list(home: Collection, engine: Engine, search: Request, request: ListRequest) -> ListedPhotos:
    with stage("search"):
        listed = PhotoList(engine.indexes.of(home), search)
        counts, page = listed.count(request), listed.find_page(request)
    damaged = set(page.damaged)
    items = engine.catalog.get_many(home, page.ids, damaged)
    page = replace(page, damaged=frozenset(damaged))
    return ListedPhotos(counts, page, {at: items[at] for at in page.ids if at in items})


def rank_photos(
    engine: Engine, collection: str, search: Request, page: Request, request: ListRequest
) -> RankedPhotos:
    """Count the photos of a search, and find a page of the best; errors as `list_photos`.

    If those from a probability on are counted, the best are looked for among them.
    """
    return engine.read(collection, _rank, engine, search, page, request)


def _rank(
    home: Collection, engine: Engine, search: Request, page: Request, request: ListRequest
) -> RankedPhotos:
    with stage("search"):
        index = engine.indexes.of(home)
        listed = PhotoList(index, search)
        counts = listed.count(request)
        answer = index.best(page) if search.least is None else listed.find_best(page)
        revisions = [hit.revision for hit in answer.hits]
        variants = dict[int, int]()
        if request.collapse:
            variants = listed.count_variants(request.collapse, revisions)
    damaged = {*counts.damaged, *answer.damaged}
    items = engine.catalog.get_many(home, [hit.item for hit in answer.hits], damaged)
    answer = replace(answer, damaged=tuple(sorted(damaged)))
    return RankedPhotos(counts, answer, items, variants)
