"""Product searches as JSON: what is asked, a page of items, facets, and what there is to say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from app import products
from app.answers.cursors import Cursors, name_of_list
from app.answers.fragments import links, phrases
from app.answers.items import photo_address_of
from app.answers.queries import part, unknown_keys
from app.engine import Engine
from app.products import Found
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
from index.requests import Hit
from index.wording import QueryWord
from models import alignment
from models.images import Photo
from models.queries import Query


def search_products(engine: Engine, asked: ProductSearch, photo: Photo | None) -> ProductsOut:
    """A page of the items that answer a request."""
    query = _query(engine, asked, photo)
    cursors, kind = Cursors(engine.catalog.secret), _kind(asked, query)
    offset = cursors.read(asked.cursor, kind) if asked.cursor is not None else 0
    request = _request(asked, offset, engine.models.weak_below)
    found = products.search(engine, asked.collection, request, query)
    answer, end = found.answer, offset + asked.limit
    return ProductsOut(
        collection=asked.collection,
        model=engine.models.name,
        query=_query_out(asked, found),
        weak_below=engine.models.weak_below,
        items=answer.items,
        behind=answer.behind,
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


def _query(engine: Engine, asked: ProductSearch, photo: Photo | None) -> str | Query | None:
    """What is asked for: a text, a photo, or nothing; ValueError for more than one."""
    sent = {"text": asked.text or None, "id": asked.id, "image": photo}
    named = [name for name, value in sent.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"send one of text, id or image, or none; got {' and '.join(named)}")
    if asked.box is not None and photo is None:
        raise ValueError("box: it chooses a part of an uploaded image; send an image with it")
    if asked.id is not None:
        return Query.of(engine.item_photo(asked.collection, asked.id)[0])
    if photo is not None:
        return Query.of(engine.models.photo(photo, part(asked.box)), photo.notes)
    return asked.text or None


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


def _kind(asked: ProductSearch, query: str | Query | None) -> str:
    """A name of this very list, the same for every way to write the filter."""
    fields = asked.model_dump(mode="json", exclude={"cursor", "limit", "facets", "filter"})
    photo = query.bag.vectors.numpy().tobytes() if isinstance(query, Query) else b""
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
    photo = found.photos.get(hit.id)
    return ProductHit(
        id=hit.id,
        score=hit.score,
        probability=hit.probability,
        image=photo_address_of(collection, stored),
        width=stored.width,
        height=stored.height,
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        variants=hit.variants,
        parts=[_part(one, found.query, photo) for one in hit.parts],
    )


def _part(given: Part, query: Query | None, photo: Hit | None) -> PartOut:
    told = PartOut(kind=given.kind, gave=given.gave, field=given.field, word=given.word)
    if given.kind != "looks" or photo is None or query is None:
        return told
    told.links = links(photo.links, query.bag, photo.bag)
    if query.text is not None:
        found = alignment.phrases(photo.bag, query, photo.links)
        told.phrases = phrases(found, query.text, photo.bag)
    return told
