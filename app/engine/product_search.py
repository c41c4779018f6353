"""Product search: words, photos and sentences asked for together, and the hits explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from app.engine.engine import Engine
from app.telemetry.stages import stage
from index.documents.documents import Documents, Schema
from index.filters import Scalar, parse, simple_parts
from index.items import Collection, Item
from index.products import ranking as products
from index.products.completion import Completion, complete
from index.products.query import ProductText, read_text
from index.products.requests import SIDE_OF, Near, Product, ProductAnswer, ProductRequest
from index.search import requests as promising
from index.search.index import Index
from index.search.requests import BEST, Hit, Promising
from index.segments.rows import Numbers
from models.text.queries import Query

NEAR_ORDER: tuple[Near, ...] = ("meaning", "likeness", "looks")  # the last depends on the second
UNCALIBRATED = "The matcher is not calibrated: only words count, not how photos look."
Explained = dict[Near, dict[int, Hit]]  # photos and sentences by their items' revisions


@dataclass(frozen=True, slots=True)
class Found:
    """What a product search gives: its answer, what explains it, and what it was taken for.

    `explained` are the best photo and sentence of items by their revisions, for the `queries` that
    were asked of them. `coverage` is the share of the collection whose photos and sentences were
    searched, and `damaged` are items that were left out because what is stored of them is.
    """

    answer: ProductAnswer
    explained: Explained
    items: dict[str, Item]
    request: ProductRequest
    queries: Mapping[Near, Query]
    notes: tuple[str, ...]
    schema: Schema
    coverage: float
    damaged: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for: a text, a photo, both, or nothing."""

    text: str | None = None
    photo: Query | None = None


def search(engine: Engine, collection: str, request: ProductRequest, sought: Sought) -> Found:
    """The items that answer a text, a photo or both; all that pass the filter without one.

    ValueError for what is no filter, and for photos where the matcher is not calibrated.
    """
    return engine.read(collection, lambda home: _search(engine, home, request, sought))


def _search(engine: Engine, home: Collection, request: ProductRequest, sought: Sought) -> Found:
    index = engine.indexes.of(home)
    documents = index.documents.current()
    queries: dict[Near, Query] = {} if sought.photo is None else {"looks": sought.photo}
    notes = sought.photo.notes if sought.photo else ()
    if sought.text is not None:
        text = read_text(sought.text, documents)
        request, notes = replace(request, text=text), (*text.notes, *notes)
        if engine.models.calibration is None:
            queries, notes = {}, (*notes, UNCALIBRATED)
        else:
            queries = _queries(engine, request, text, sought)
    damaged = set[str]()
    with stage("search"):
        near = _near(index, documents, request, queries)
        answer = products.search(documents, request, near)
        explained = _explained(index, queries, near, answer, damaged)
    hits = [_exact(request, hit, explained) for hit in answer.hits]
    if request.sort is None:  # probabilities are exact now
        hits.sort(key=lambda hit: (-hit.score, hit.id))
    items = engine.catalog.get_many(home, [hit.id for hit in hits], damaged)
    items = {item: stored for item, stored in items.items() if item not in damaged}
    with documents.lock:
        schema = documents.schema()
    answer = replace(answer, hits=tuple(hits))
    coverage = min((candidates.coverage for candidates in near.values()), default=1.0)
    about = (request, queries, notes, schema, coverage)
    return Found(answer, explained, items, *about, frozenset(damaged))


def _queries(
    engine: Engine, request: ProductRequest, text: ProductText, sought: Sought
) -> dict[Near, Query]:
    """What photos are asked for, and sentences where an English word is in no item."""
    queries: dict[Near, Query] = {}
    if request.weights.looks:
        queries["looks"] = engine.models.query(text.corrected)
        if sought.photo is not None:
            queries["likeness"] = sought.photo
    if request.weights.meaning and text.unsaid is not None:
        queries["meaning"] = engine.models.query(text.unsaid)
    return queries


def suggest(engine: Engine, collection: str, text: str, count: int) -> list[Completion]:
    """Texts that go on where a text stops, and how many items each finds."""
    return complete(_documents(engine, collection), text, count)


def values_of(engine: Engine, collection: str, key: str, most: int) -> list[Scalar]:
    """The different values that items have under a metadata key, up to so many."""
    documents = _documents(engine, collection)
    with documents.lock:
        return documents.values(key, most)


def _documents(engine: Engine, collection: str) -> Documents:
    return engine.read(collection, lambda home: engine.indexes.of(home).documents.current())


def keys_of(request: ProductRequest) -> list[str]:
    """The metadata keys that a request names."""
    filters = [request.where, *(boost.where for boost in request.boosts)]
    filtered = [part.key for where in filters for part in simple_parts(parse(where))]
    return list(dict.fromkeys([*filtered, *request.keys]))


def _near(
    index: Index, documents: Documents, request: ProductRequest, queries: Mapping[Near, Query]
) -> dict[Near, Promising]:
    """The photos and sentences that promise most, of the items that pass the filter."""
    if not queries:
        return {}
    revisions = None
    if request.where:
        with documents.lock:
            revisions = documents.revisions[products.passing(documents, request.where)]
    near: dict[Near, Promising] = {}
    for kind in sorted(queries, key=NEAR_ORDER.index):
        near[kind] = _promising(index, kind, queries[kind], revisions)
        if kind == "likeness" and request.weights.likeness > 0:
            # The text ranks what the photo finds: it is asked of all that, and of nothing else.
            revisions = np.unique(near[kind].revisions)
    return near


def _promising(index: Index, kind: Near, query: Query, revisions: Numbers | None) -> Promising:
    """What promises most, of the items with some revisions; nothing for a query without parts."""
    if not query.parts:
        return replace(promising.NONE, asked=True)
    return index.promising(SIDE_OF[kind], query, BEST, revisions)


def _explained(
    index: Index,
    queries: Mapping[Near, Query],
    near: Mapping[Near, Promising],
    answer: ProductAnswer,
    damaged: set[str],
) -> Explained:
    """The best photos and sentences of the hits that they gave something to, exactly scored."""
    explained: Explained = {}
    for kind, rows in near.items():
        revisions = [hit.revision for hit in answer.hits if kind in hit.probabilities]
        shown = rows.of_items(revisions)
        explained[kind] = (
            index.explained(SIDE_OF[kind], queries[kind], shown, damaged) if shown else {}
        )
    return explained


def _exact(request: ProductRequest, hit: Product, explained: Explained) -> Product:
    """A hit with the exact probabilities of its photo and its sentence."""
    exact = dict(hit.probabilities)
    for kind in exact:
        near_hit = explained[kind].get(hit.revision)
        if near_hit is not None and near_hit.probability is not None:
            exact[kind] = near_hit.probability
    parts = (
        *(part for part in hit.parts if part.kind not in exact),
        *(
            products.near_part(request.weights, kind, probability)
            for kind, probability in exact.items()
        ),
    )
    return replace(hit, score=sum(part.gave for part in parts), parts=parts, probabilities=exact)
