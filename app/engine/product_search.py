"""Product search and completions of a collection's texts."""

from __future__ import annotations

from dataclasses import replace

from app.engine.engine import Engine
from app.telemetry.requests import stage
from index.conditions import Scalar
from index.documents.documents import Documents
from index.items import Collection
from index.products.completion import Completion, complete
from index.products.requests import ProductRequest
from index.products.search import ItemSearch, ProductResult
from models.text.queries import Query


def search(
    engine: Engine,
    collection: str,
    request: ProductRequest,
    text: str | None = None,
    photo: Query | None = None,
) -> ProductResult:
    """Find the items for a text, a photo or both.

    Without either, all that pass the filter.

    ValueError for an invalid filter, and for photos where the matcher is not calibrated.
    """
    return engine.read(collection, _search, engine, request, text, photo)


def _search(
    home: Collection, engine: Engine, request: ProductRequest, text: str | None, photo: Query | None
) -> ProductResult:
    curation = engine.curate(home)
    if pinned := curation.list_pinned(text if photo is None and request.sort is None else None):
        items = engine.catalog.get_many(home, pinned, set())
        revisions = tuple(items[id_].revision for id_ in pinned if id_ in items)
        request = replace(request, pinned=revisions)
    embed = None if engine.models.calibration is None else engine.models.query
    item_search = ItemSearch(engine.indexes.of(home), request, text, photo, embed)
    with stage("search"):
        result = item_search.find()
    damaged = set(result.damaged)
    items = engine.catalog.get_many(home, [hit.id for hit in result.answer.hits], damaged)
    sound = {id_: item for id_, item in items.items() if id_ not in damaged}
    return replace(result, items=sound, damaged=frozenset(damaged))


def suggest(engine: Engine, collection: str, text: str, count: int) -> list[Completion]:
    """Complete a text; says how many items each completion finds."""
    return complete(engine.read(collection, _read_documents, engine), text, count)


def list_values(engine: Engine, collection: str, key: str, most: int) -> list[Scalar]:
    """List the values under a metadata key, up to so many."""
    documents = engine.read(collection, _read_documents, engine)
    with documents.lock:
        return documents.values(key, most)


def _read_documents(home: Collection, engine: Engine) -> Documents:
    engine.curate(home)
    return engine.indexes.of(home).documents.current()
