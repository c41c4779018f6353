"""Product searches as JSON: what is asked, a page of items, facets, and what there is to say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from app import products
from app.answers.cursors import Cursors, name_of_list
from app.answers.fragments import links, own_words, phrases
from app.answers.items import photo_address, size_of
from app.answers.queries import check_together, read_photo, unknown_keys
from app.engine import Engine
from app.products import Found, Sought
from app.schemas.products import (
    FacetIn,
    FacetOut,
    PartOut,
    ProductHit,
    ProductQueryOut,
    ProductSearch,
    ProductsOut,
    SuggestionOut,
    SuggestionsOut,
    WordOut,
)
from index.facets import canonical_filter
from index.items import Item
from index.product_requests import Boost, FacetRequest, Part, Product, ProductRequest, Weights
from index.wording import QueryWord
from models import alignment
from models.images import Photo
from models.queries import Query


def search_products(engine: Engine, asked: ProductSearch, photo: Photo | None) -> ProductsOut:
    """A page of the items that answer a request."""
    check_together(["text"] if asked.text else [], asked, photo, least=0)
    shown = read_photo(engine, asked, photo)
    cursors, kind = Cursors(engine.catalog.secret), _kind(asked, shown)
    offset = cursors.read(asked.cursor, kind) if asked.cursor is not None else 0
    request = _request(asked, offset, engine.models.weak_below)
    sought = Sought(asked.text or None, shown, asked.photo_weight or 0.0)
    found = products.search(engine, asked.collection, request, sought)
    answer, end = found.answer, offset + asked.limit
    return ProductsOut(
        collection=asked.collection,
        model=engine.models.name,
        query=_query_out(asked, found),
        weak_below=engine.models.weak_below,
        items=answer.items,
        behind=answer.behind,
        complete=found.coverage == 1.0,
        coverage=found.coverage,
        total=answer.total,
        groups=answer.groups,
        facets=[
            FacetOut.model_validate(
                asdict(one)
                | {"values": [{"value": value, "count": count} for value, count in one.values]}
            )
            for one in answer.facets
        ],
        hits=[
            _hit(asked.collection, found, hit, found.items[hit.id])
            for hit in answer.hits
            if hit.id in found.items  # one that was deleted since the search is not
        ],
        cursor=cursors.write(kind, end) if answer.groups > end else None,
    )


def suggestions(engine: Engine, collection: str, text: str, limit: int) -> SuggestionsOut:
    """Completions of a text."""
    found = products.suggest(engine, collection, text, limit)
    told = [SuggestionOut(text=one.text, items=one.items) for one in found]
    return SuggestionsOut(collection=collection, suggestions=told)


def _request(asked: ProductSearch, offset: int, weak_below: float | None) -> ProductRequest:
    """What is asked of the index, but for the query."""
    least = asked.min_probability
    return ProductRequest(
        where=asked.filter,
        least=(weak_below or 0.0) if least is None else least,
        weights=Weights(**asked.weights.model_dump()),
        fields=asked.fields,
        boosts=tuple(_boost(one.weight, one.filter, one.key) for one in asked.boosts),
        facets=tuple(_facet(one) for one in asked.facets),
        sort=asked.sort.key if asked.sort else None,
        descending=asked.sort is not None and asked.sort.order == "desc",
        collapse=asked.collapse,
        limit=asked.limit,
        offset=offset,
    )


def _boost(weight: float, where: Mapping[str, object] | None, key: str | None) -> Boost:
    if (where is None) == (key is None):
        raise ValueError("boosts: each has either a key or a filter")
    return Boost(weight, where, key)


def _facet(asked: str | FacetIn) -> FacetRequest:
    if isinstance(asked, str):
        return FacetRequest(asked)
    return FacetRequest(asked.key, asked.limit, tuple(asked.bounds))


def _kind(asked: ProductSearch, shown: Query | None) -> str:
    """A name of this very list, the same for every way to write the filter."""
    fields = asked.model_dump(mode="json", exclude={"cursor", "limit", "facets", "filter"})
    photo = shown.bag.vectors.numpy().tobytes() if shown else b""
    digest = hashlib.sha256(photo).hexdigest()
    return name_of_list("products", fields, canonical_filter(asked.filter), digest)


def _query_out(asked: ProductSearch, found: Found) -> ProductQueryOut:
    text = found.request.text
    keys = products.keys_of(found.request) if not found.answer.hits else found.request.keys
    notes = [*found.notes, *unknown_keys(keys, found.known)]
    return ProductQueryOut(
        text=asked.text,
        corrected=text.corrected if text else None,
        words=_words(text.text, text.asked) if text else [],
        refused=_words(text.text, text.refused) if text else [],
        notes=list(notes),
    )


def _words(text: str, words: Sequence[QueryWord]) -> list[WordOut]:
    return [
        WordOut(
            text=text[word.start : word.end],
            span=(word.start, word.end),
            spelling=word.spelling,
            synonyms=list(word.synonyms),
        )
        for word in words
    ]


def _hit(collection: str, found: Found, hit: Product, stored: Item) -> ProductHit:
    photo = found.explained.get("looks", {}).get(hit.revision)
    number = (photo.photo if photo else None) or 0
    return ProductHit(
        id=hit.id,
        score=hit.score,
        probability=hit.probabilities.get("looks"),
        photo=number,
        image=photo_address(collection, stored.id, number) if stored.photos else None,
        **size_of(stored, number),
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        variants=hit.variants,
        parts=[_part(one, found, hit.revision) for one in hit.parts],
    )


def _part(given: Part, found: Found, revision: int) -> PartOut:
    told = PartOut(kind=given.kind, gave=given.gave, field=given.field, word=given.word)
    if given.kind not in ("looks", "meaning"):
        return told
    near, query = found.explained[given.kind].get(revision), found.queries[given.kind]
    if near is None:
        return told
    if given.kind == "meaning":
        told.links = own_words(near)
    else:
        told.links = links(near.links, query.bag, near.bag)
    if query.text is not None:
        told.phrases = phrases(alignment.phrases(near.bag, query, near.links), query.text, near.bag)
    return told
