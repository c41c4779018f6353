"""Product search: words and photos asked for together, and the photos of the hits explained."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.engine import Engine
from app.stages import stage
from index import photos, products
from index.completion import Completion, complete
from index.conditions import parse, simple_parts
from index.documents import Documents
from index.items import Collection, Item
from index.photos import BEST, Photos
from index.product_requests import Part, Product, ProductAnswer, ProductRequest
from index.reading import read_text
from index.requests import Hit
from index.search import Index
from models.queries import Query

UNCALIBRATED = "The matcher is not calibrated: only words count, not how photos look."


@dataclass(frozen=True, slots=True)
class Found:
    """What a product search gives: its answer, photos and items by id, and what it was taken for.

    `known` are the metadata keys that there are.
    """

    answer: ProductAnswer
    photos: dict[str, Hit]
    items: dict[str, Item]
    request: ProductRequest
    query: Query | None
    notes: tuple[str, ...]
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sought:
    """What is searched for: a text, a photo, both with the photo's weight, or nothing."""

    text: str | None = None
    photo: Query | None = None
    weight: float = 0.0


def search(engine: Engine, collection: str, request: ProductRequest, asked: Sought) -> Found:
    """The items that answer a text, a photo or both; all that pass the filter without one.

    ValueError for what is no filter, and for photos where the matcher is not calibrated.
    """
    return engine.on(collection, lambda home: _search(engine, home, request, asked))


def _search(engine: Engine, home: Collection, request: ProductRequest, asked: Sought) -> Found:
    index = engine.indexes.of(home)
    documents = index.documents.current()
    query = asked.photo
    notes = query.notes if query else ()
    if asked.text is not None:
        with documents.lock:
            text = read_text(asked.text, documents)
        request, query = replace(request, text=text), None
        notes = (*text.notes, *notes)
        if engine.models.calibration is None:
            notes = (*notes, UNCALIBRATED)
        elif request.weights.looks:
            query = engine.models.query(text.corrected)
            if asked.photo is not None:
                query = query.beside(asked.photo.bag, asked.weight, asked.photo.notes)
    with stage("search"):
        promising = _photos(index, documents, request, query)
        answer = products.search(documents, request, promising)
        shown = promising.of_items([hit.revision for hit in answer.hits if hit.probability])
        explained = index.explained(query, shown) if query and shown else {}
    hits = [_exact(request, hit, explained.get(hit.revision)) for hit in answer.hits]
    if request.sort is None:  # photos' probabilities are exact now
        hits.sort(key=lambda hit: (-hit.score, hit.id))
    by_id = {hit.item: hit for hit in explained.values()}
    items = engine.catalog.get_many(home, [hit.id for hit in hits])
    known = frozenset(documents.columns)
    return Found(replace(answer, hits=tuple(hits)), by_id, items, request, query, notes, known)


def suggest(engine: Engine, collection: str, text: str, count: int) -> list[Completion]:
    """Texts that go on where a text stops, and how many items each finds."""
    documents = engine.on(collection, lambda home: engine.indexes.of(home).documents.current())
    with documents.lock:
        return complete(documents, text, count)


def keys_of(request: ProductRequest) -> list[str]:
    """The metadata keys that a request names."""
    filters = [request.where, *(boost.where for boost in request.boosts)]
    filtered = [part.key for where in filters for part in simple_parts(parse(where))]
    return list(dict.fromkeys([*filtered, *request.keys]))


def _photos(
    index: Index, documents: Documents, request: ProductRequest, query: Query | None
) -> Photos:
    """The photos that promise most, of the items that pass the filter."""
    if query is None:
        return photos.NONE
    if not query.parts:
        return replace(photos.NONE, asked=True)
    revisions = None
    if request.where:
        with documents.lock:
            revisions = documents.revisions[products.passing(documents, request.where)]
    return index.photos(query, BEST, revisions)


def _exact(request: ProductRequest, hit: Product, photo: Hit | None) -> Product:
    """A hit with the exact probability of its photo."""
    if photo is None or photo.probability is None:
        return hit
    looks = Part("looks", request.weights.looks * photo.probability)
    parts = (*(part for part in hit.parts if part.kind != "looks"), looks)
    score = sum(part.gave for part in parts)
    return replace(hit, score=score, parts=parts, probability=photo.probability)
