"""Product searches as JSON: query, items, facets and notes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import partial

from app.answers.cursors import Cursors, name_of_list
from app.answers.facets import facet_out, note_undated, read_facets, read_place
from app.answers.fragments import links, own_words, phrases
from app.answers.items import about_photo, notes_of, photo_address, second_of
from app.answers.notes import note_unknown_keys, note_unknown_values, note_unused
from app.answers.search import check_together, read_photo
from app.engine import product_search as products
from app.engine.engine import Engine
from app.schemas.hits import WordOut
from app.schemas.products import (
    PartOut,
    ProductHit,
    ProductQueryOut,
    ProductSearch,
    ProductsOut,
    SuggestionOut,
    SuggestionsOut,
)
from index.bags import photo_at
from index.conditions import describe
from index.documents.query_words import QueryWord
from index.filters import parse
from index.items import Item
from index.listing.requests import ListPlace
from index.products.requests import (
    LIKELY,
    Boost,
    Product,
    ProductRequest,
    ScorePart,
    Weights,
)
from index.products.search import ProductResult
from models.scores import alignment
from models.text.queries import Query
from models.vision.images import Photo


def search_products(engine: Engine, search: ProductSearch, photo: Photo | None) -> ProductsOut:
    """Search for the items of a request; returns a page."""
    check_together(["text"] if search.text else [], search, photo, least=0)
    shown = read_photo(engine, search, photo)
    cursors, kind = Cursors(engine.catalog.secret), _kind(search, shown)
    after = read_place(cursors, search.cursor, kind) if search.cursor is not None else None
    request = _request(search, after, engine.models.weak_below, shown is not None)
    result = products.search(engine, search.collection, request, search.text or None, shown)
    answer = result.answer
    return ProductsOut(
        collection=search.collection,
        model=engine.models.name,
        query=_query_out(engine, search, result),
        weak_below=engine.models.weak_below,
        min_probability=answer.least,
        items=answer.items,
        behind=answer.behind,
        complete=result.coverage == 1.0,
        coverage=result.coverage,
        damaged=sorted(result.damaged),
        total=answer.total,
        groups=answer.groups,
        facets=[facet_out(facet) for facet in answer.facets],
        hits=[
            _hit(search.collection, result, hit, result.items[hit.id])
            for hit in answer.hits
            if hit.id in result.items  # one that was deleted since the search is not
        ],
        cursor=cursors.write(kind, astuple(answer.place)) if answer.place else None,
    )


def suggestions(engine: Engine, collection: str, text: str, limit: int) -> SuggestionsOut:
    """Completions of a text."""
    completions = products.suggest(engine, collection, text, limit)
    suggestions = [
        SuggestionOut(text=completion.text, items=completion.items) for completion in completions
    ]
    return SuggestionsOut(collection=collection, suggestions=suggestions)


def _request(
    search: ProductSearch, after: ListPlace | None, weak_below: float | None, with_photo: bool
) -> ProductRequest:
    """The request to the index, without its query."""
    least, likeness = search.min_probability, search.weights.looks * (search.photo_weight or 0.0)
    likely = LIKELY if least is None and search.text and not with_photo else None
    return ProductRequest(
        where=search.filter,
        least=(weak_below or 0.0) if least is None else least,
        likely=likely,
        weights=Weights(**search.weights.model_dump(), likeness=likeness),
        fields=search.fields,
        boosts=tuple(_boost(boost.weight, boost.filter, boost.key) for boost in search.boosts),
        facets=read_facets(search.facets),
        sort=search.sort.key if search.sort else None,
        descending=search.sort is not None and search.sort.order == "desc",
        collapse=search.collapse,
        limit=search.limit,
        after=after,
    )


def _boost(weight: float, where: Mapping[str, object] | None, key: str | None) -> Boost:
    if (where is None) == (key is None):
        raise ValueError("boosts: each has either a key or a filter")
    return Boost(weight, where, key)


def _kind(search: ProductSearch, shown: Query | None) -> str:
    """Name a list of products, alike for equal filters."""
    fields = search.model_dump(mode="json", exclude={"cursor", "limit", "facets", "filter"})
    photo = shown.bag.vectors.numpy().tobytes() if shown else b""
    digest = hashlib.sha256(photo).hexdigest()
    return name_of_list("products", fields, describe(parse(search.filter)), digest)


def _query_out(engine: Engine, search: ProductSearch, result: ProductResult) -> ProductQueryOut:
    text, schema = result.request.text, result.schema
    keys = result.request.keys if result.answer.hits else result.request.keys_with_filters
    notes = [*result.notes, *note_unknown_keys(keys, schema.keys, schema.uncompared.get)]
    weighed = [name for name, weight in search.fields.items() if weight]
    notes += note_unused(weighed, [boost.key for boost in search.boosts if boost.key], schema)
    notes += note_undated(search.facets, result.answer.facets)
    if not result.answer.hits:
        values = partial(products.list_values, engine, search.collection)
        notes += note_unknown_values(search.filter, schema.keys, values)
    notes += notes_of(result.items.values())
    return ProductQueryOut(
        text=search.text,
        corrected=text.corrected if text and text.corrected != search.text else None,
        words=_words(text.text, text.asked) if text else [],
        refused=_words(text.text, text.refused_words) if text else [],
        notes=notes,
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


def _hit(collection: str, result: ProductResult, hit: Product, stored: Item) -> ProductHit:
    photos = (result.explained.get(kind, {}).get(hit.revision) for kind in ("looks", "likeness"))
    photo = next(filter(None, photos), None)
    number = (photo_at(photo.position) if photo else None) or 0
    return ProductHit(
        id=hit.id,
        score=hit.score,
        probability=_probability(result, hit),
        photo=number,
        second=second_of(stored, number),
        image=photo_address(collection, stored.id, number) if stored.photos else None,
        **about_photo(collection, stored.id, stored.photos, number),
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        variants=hit.variants,
        parts=[_part(part, result, hit.revision) for part in hit.parts],
    )


def _probability(result: ProductResult, hit: Product) -> float | None:
    """The probability of a hit's photo: of its least probable part.

    The parts are the text and the query's photo or, where its weight is below 0, its absence.
    """
    looks, likeness = hit.probabilities.get("looks"), hit.probabilities.get("likeness")
    if likeness is None:
        return looks
    if result.request.weights.likeness < 0:
        return None if looks is None else min(looks, 1 - likeness)
    return likeness if looks is None else min(looks, likeness)


def _part(part: ScorePart, result: ProductResult, revision: int) -> PartOut:
    part_out = PartOut(kind=part.kind, gave=part.gave, field=part.field, word=part.word)
    if part.kind not in ("looks", "likeness", "meaning"):
        return part_out
    near, query = result.explained[part.kind].get(revision), result.queries[part.kind]
    if near is None:
        return part_out
    if part.kind == "meaning":
        part_out.links = own_words(near)
    else:
        part_out.links = links(near.links, query.bag, near.bag)
    aligned = alignment.phrases(near.bag, query, near.links)
    part_out.phrases = phrases(aligned, query.text, near.bag)
    return part_out
