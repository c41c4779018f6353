"""Hits of a search as JSON: a page of them, with notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict, TypeVar

from app.answers.cursors import Cursors, start_page, write_next
from app.answers.filters import note_unknown_keys, note_unknown_values
from app.answers.fragments import links, own_words, phrases
from app.answers.items import notes_of, photo_address, photo_address_of, size_of
from app.answers.queries import query_out, read_query
from app.engine.engine import Engine
from app.schemas.search import (
    ImageHit,
    ImageHits,
    PhraseOut,
    QueryOut,
    Search,
    SearchedOut,
    SentenceHit,
    SentenceHits,
)
from index.bags import photo_at
from index.filters import parse, simple_parts
from index.items import Item
from index.search.requests import Hit, Request
from index.segments.rows import Side
from models.scores import alignment
from models.text.queries import Query
from models.types import FragmentBag
from models.vision.images import Photo


def search_images(engine: Engine, search: Search, photo: Photo | None) -> ImageHits:
    """Search for the photos that answer a request; gives a page of them."""
    query = read_query(engine, search, photo)
    hits, about = _find_page(engine, search, query, "images", _image_hit)
    return ImageHits(hits=hits, **about)


def search_sentences(engine: Engine, search: Search, photo: Photo | None) -> SentenceHits:
    """Search for the sentences that answer a request; gives a page of them."""
    query = read_query(engine, search, photo)
    if search.photo_weight is not None:
        raise ValueError(
            "photo_weight: sentences answer a text or a photo; /search/image takes both"
        )
    hits, about = _find_page(engine, search, query, "sentences", _sentence_hit)
    return SentenceHits(hits=hits, **about)


HitOut = TypeVar("HitOut", ImageHit, SentenceHit)


class AboutHits(TypedDict):
    """The fields of every page of hits."""

    collection: str
    model: str
    query: QueryOut
    weak_below: float | None
    searched: SearchedOut
    cursor: str | None


def _find_page(
    engine: Engine,
    search: Search,
    query: Query,
    side: Side,
    hit_out: Callable[[Search, Query, Hit, Item], HitOut],
) -> tuple[list[HitOut], AboutHits]:
    """Find a page of hits, as JSON; also what there is to say about them."""
    request = Request(
        side,
        query,
        limit=search.limit,
        where=search.filter,
        least=search.min_probability,
        exact=search.exact,
    )
    cursors = Cursors(engine.catalog.secret)
    request = start_page(cursors, search, request)
    items: dict[str, Item]
    answer, items = engine.search_items(search.collection, request)
    hits: list[HitOut] = [
        hit_out(search, query, hit, items[hit.item])
        for hit in answer.hits
        if hit.item in items  # one that was deleted since the search is not
    ]
    notes = [*_note_unknown(engine, search, hits), *notes_of(items.values())]
    return hits, AboutHits(
        collection=search.collection,
        model=engine.models.name,
        query=query_out(query, notes),
        weak_below=engine.models.weak_below,
        searched=SearchedOut.model_validate(answer, from_attributes=True),
        cursor=write_next(cursors, search, request, answer),
    )


def _note_unknown(
    engine: Engine, search: Search, hits: Sequence[ImageHit | SentenceHit]
) -> list[str]:
    """Write notes about keys and values that no item has.

    The catalog is read only where a filter without hits, or a list of fields, may name some.
    """
    filtered = [] if hits else [part.key for part in simple_parts(parse(search.filter))]
    carried = {key for hit in hits for key in hit.metadata}
    missed = [key for key in search.fields or () if key not in carried]
    if not filtered and not missed:
        return []
    name, catalog = search.collection, engine.catalog
    known = engine.read(name, catalog.keys)
    notes = note_unknown_keys(
        dict.fromkeys(filtered), known, lambda key: engine.read(name, catalog.example, key)
    )
    notes += note_unknown_keys((key for key in dict.fromkeys(missed) if key not in filtered), known)
    if hits:
        return notes
    return notes + note_unknown_values(
        search.filter, known, lambda key, most: engine.read(name, catalog.values, key, most)
    )


def _image_hit(search: Search, query: Query, hit: Hit, stored: Item) -> ImageHit:
    photo = photo_at(hit.position)
    assert photo is not None
    return ImageHit(
        id=hit.item,
        score=hit.score,
        probability=hit.probability,
        photo=photo,
        image=photo_address(search.collection, hit.item, photo),
        **size_of(stored, photo),
        metadata=search.choose_metadata(stored.metadata),
        sentences=list(stored.sentences),
        links=links(hit.links, query.bag, hit.bag),
        phrases=_phrases(query, query.text, hit.bag, hit),
    )


def _sentence_hit(search: Search, query: Query, hit: Hit, stored: Item) -> SentenceHit:
    sentence = stored.sentences[hit.position] if hit.position < len(stored.sentences) else ""
    return SentenceHit(
        id=hit.item,
        position=hit.position,
        sentence=sentence,
        score=hit.score,
        probability=hit.probability,
        image=photo_address_of(search.collection, stored),
        metadata=search.choose_metadata(stored.metadata),
        links=links(hit.links, hit.bag, query.bag) if query.text is None else own_words(hit),
        phrases=_phrases(Query.of(hit.bag), sentence, query.bag, hit)
        if query.text is None
        else _phrases(query, query.text, hit.bag, hit),
    )


def _phrases(sentence: Query, text: str | None, image: FragmentBag, hit: Hit) -> list[PhraseOut]:
    """A hit's links by phrases of the sentence's text; none where that is a photo."""
    if text is None:
        return []
    return phrases(alignment.phrases(image, sentence, hit.links), text, image)
