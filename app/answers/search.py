"""Searches: the query of a request, a page of hits, notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypedDict, TypeVar

from app.answers.cursors import Cursors, start_page, write_next
from app.answers.fragments import fragments, links, own_words, phrases
from app.answers.items import (
    about_photo,
    notes_of,
    photo_address,
    photo_address_of,
    second_of,
)
from app.answers.notes import note_unknown_keys, note_unknown_values
from app.engine.engine import Engine
from app.schemas.fields import Corners
from app.schemas.hits import ImageHit, QueryOut, SearchedOut, SentenceHit, SentenceHits, WordOut
from app.schemas.regions import RegionHit
from app.schemas.search import PhotoBody, Search
from app.telemetry.requests import note, stage
from index.bags import photo_at
from index.conditions import simple_parts
from index.filters import parse
from index.items import Item
from index.search.requests import Answer, Groups, Hit, Request, WordGains
from index.segments.rows import Side
from models.scores import alignment
from models.text.queries import Query
from models.types import Box
from models.vision import images
from models.vision.images import Photo


def search_sentences(engine: Engine, search: Search, photo: Photo | None) -> SentenceHits:
    """Search for the sentences of a request; returns a page."""
    query = read_query(engine, search, photo, whole=True)
    if search.photo_weight is not None:
        raise ValueError(
            "photo_weight: sentences answer a text or a photo; /search/image takes both"
        )
    hits, about = find_page(engine, search, query, "sentences", _sentence_hit)
    return SentenceHits(hits=hits, **about)


def read_query(
    engine: Engine,
    search: Search,
    photo: Photo | None,
    *,
    of_photos: bool = False,
    whole: bool = False,
) -> Query:
    """Read the query of a request: text, phrases, a photo, or both.

    Both go together with a weight. A query of photos asks them for things, unless it has a photo,
    whose score has another scale. With `whole`, texts are read like stored sentences.

    ValueError where there is none, or more than belongs together.
    """
    texts = {"text": search.text, "phrases": search.phrases}
    check_together([name for name, value in texts.items() if value is not None], search, photo)
    shown = read_photo(engine, search, photo)
    read = partial(
        engine.models.query,
        of_photos=of_photos and shown is None,
        whole=whole,
        spelling=search.spelling,
    )
    if search.text is not None:
        note(query=search.text)
        query = read(search.text)
    elif search.phrases is not None:
        note(query=", ".join(phrase.text for phrase in search.phrases))
        query = read([(phrase.text, phrase.weight) for phrase in search.phrases])
    else:
        assert shown is not None
        return shown
    return (
        query
        if shown is None
        else query.with_photo(shown.bag, search.photo_weight or 0, shown.notes)
    )


def check_together(
    texts: Sequence[str], request: PhotoBody, photo: Photo | None, *, least: int = 1
) -> None:
    """Raise ValueError unless the parts of a query belong together.

    That is one query, or a text and a photo with a weight.
    """
    photos = {"id": request.id, "image": photo}
    named = [*texts, *(name for name, value in photos.items() if value is not None)]
    weight = request.photo_weight
    if len(named) == 2 and len(texts) == 1:
        if not weight:
            detail = "without one" if weight is None else "and photo_weight 0"
            raise ValueError(
                "a text and a photo are searched together with a photo_weight that is not 0; "
                f"got {' and '.join(named)}, {detail}"
            )
    elif not least <= len(named) <= 1:
        raise ValueError(
            "send one of text, phrases, id or image, or a text and a photo with a photo_weight; "
            f"got {' and '.join(named) or 'none'}"
        )
    elif weight is not None:
        raise ValueError("photo_weight: it needs a text and a photo; leave it out")


def read_photo(engine: Engine, request: PhotoBody, photo: Photo | None) -> Query | None:
    """Read the photo of a request, or its part in the box."""
    if request.photo and request.id is None:
        raise ValueError("photo: it chooses one of an item's photos; send the item's id with it")
    if request.id is None and photo is None:
        if request.box is not None:
            raise ValueError("box: it chooses a part of a photo; send an id or an image with it")
        return None
    if photo is not None:
        return Query.of(engine.models.photo(photo, read_box(request.box)), photo.notes)
    assert request.id is not None
    if request.box is None:
        return Query.of(engine.item_bag(request.collection, request.id, request.photo))
    _, picture = engine.item_photo(request.collection, request.id, request.photo)
    with stage("decode"):
        stored = images.decode(picture.jpeg)
    return Query.of(engine.models.photo(stored, read_box(request.box)))


def read_box(corners: Corners | None) -> Box | None:
    """The box with these corners; ValueError if it is empty."""
    if corners is None:
        return None
    box = Box(*corners)
    if box.left >= box.right or box.top >= box.bottom:
        raise ValueError("box: left must be less than right, and top less than bottom")
    return box


HitOut = TypeVar("HitOut", ImageHit, SentenceHit, RegionHit)


class AboutHits(TypedDict):
    """The fields of every page of hits."""

    collection: str
    model: str
    query: QueryOut
    weak_below: float | None
    searched: SearchedOut
    cursor: str | None


def find_page(
    engine: Engine,
    search: Search,
    query: Query,
    side: Side,
    hit_out: Callable[[Search, Query, Hit, Item], HitOut],
    per_photo: int | None = None,
    words: WordGains | None = None,
    groups: Groups | None = None,
    find: Callable[[Request], tuple[Answer, dict[str, Item]]] | None = None,
) -> tuple[list[HitOut], AboutHits]:
    """Find a page of hits as JSON, and the fields about them.

    With `per_photo` hits are regions, of which a photo has so many at most; `words` raise photos,
    of which only the best of `groups` is a hit. `find` finds them otherwise than a search.
    """
    request = Request(
        side,
        query,
        limit=search.limit,
        where=search.filter,
        least=search.min_probability,
        exact=search.exact,
        per_photo=per_photo,
        words=words,
        groups=groups,
    )
    cursors = Cursors(engine.catalog.secret)
    if search.cursor is not None:
        request = start_page(cursors, search, request)
    items: dict[str, Item]
    answer, items = find(request) if find else engine.search(search.collection, request)
    hits: list[HitOut] = [
        hit_out(search, query, hit, items[hit.item])
        for hit in answer.hits
        if hit.item in items  # one that was deleted since the search is not
    ]
    notes: list[str] = note_unknown(engine, search, hits) + notes_of(items.values())
    return hits, AboutHits(
        collection=search.collection,
        model=engine.models.name,
        query=query_out(query, notes),
        weak_below=_choose_weak_line(engine, answer) if per_photo is None else None,
        searched=SearchedOut.model_validate(answer, from_attributes=True),
        cursor=write_next(cursors, search, request, answer) if answer.more else None,
    )


def _choose_weak_line(engine: Engine, answer: Answer) -> float | None:
    """The line of weak hits for this query, or for all."""
    return engine.models.weak_below if answer.weak_below is None else answer.weak_below


def query_out(query: Query, notes: Sequence[str]) -> QueryOut:
    """The query as it was understood, with further notes."""
    corrected = query.typed is not None
    return QueryOut(
        text=query.typed if corrected else query.text,
        corrected=query.text if corrected else None,
        words=[
            WordOut(text=word.typed, span=(word.start, word.end), spelling=word.known)
            for word in query.spellings
        ],
        fragments=fragments(query.bag) if query.parts else [],
        notes=[*query.notes, *dict.fromkeys(notes)],
    )


def note_unknown(
    engine: Engine,
    search: Search,
    hits: Sequence[ImageHit | SentenceHit | RegionHit],
    keys: Sequence[str] = (),
) -> list[str]:
    """Write notes about keys and values of no item; `keys` are further ones to look for.

    The catalog is read only where a filter without hits, or a list of fields, may name some.
    """
    filtered = [] if hits else [part.key for part in simple_parts(parse(search.filter))]
    carried = {key for hit in hits for key in hit.metadata}
    missed = [key for key in (*keys, *(search.fields or ())) if key not in carried]
    if not filtered and not missed:
        return []
    name, catalog = search.collection, engine.catalog
    all_keys = engine.read(name, catalog.keys)
    notes = note_unknown_keys(
        dict.fromkeys(filtered), all_keys, lambda key: engine.read(name, catalog.example, key)
    )
    notes += note_unknown_keys(
        (key for key in dict.fromkeys(missed) if key not in filtered), all_keys
    )
    if hits:
        return notes
    return notes + note_unknown_values(
        search.filter, all_keys, lambda key, most: engine.read(name, catalog.values, key, most)
    )


def image_hit(search: Search, query: Query, hit: Hit, stored: Item) -> ImageHit:
    """An item by its best photo, as JSON."""
    photo = photo_at(hit.position)
    assert photo is not None
    return ImageHit(
        id=hit.item,
        score=hit.score,
        probability=hit.probability,
        photo=photo,
        second=second_of(stored, photo),
        image=photo_address(search.collection, hit.item, photo),
        **about_photo(search.collection, stored.id, stored.photos, photo),
        metadata=search.choose_metadata(stored.metadata),
        sentences=list(stored.sentences),
        links=links(hit.links, query.bag, hit.bag),
        phrases=phrases(alignment.phrases(hit.bag, query, hit.links), query.text, hit.bag),
        words=[],  # a default would be copied deeply, each time
    )


def _sentence_hit(search: Search, query: Query, hit: Hit, stored: Item) -> SentenceHit:
    sentence = stored.sentences[hit.position] if hit.position < len(stored.sentences) else ""
    if query.text is None:
        hit_links, sides = links(hit.links, hit.bag, query.bag), (query.bag, Query.of(hit.bag))
    else:
        hit_links, sides = own_words(hit), (hit.bag, query)
    return SentenceHit(
        id=hit.item,
        position=hit.position,
        sentence=sentence,
        score=hit.score,
        probability=hit.probability,
        image=photo_address_of(search.collection, stored),
        thumbnail=about_photo(search.collection, stored.id, stored.photos, 0)["thumbnail"],
        metadata=search.choose_metadata(stored.metadata),
        links=hit_links,
        phrases=phrases(alignment.phrases(*sides, hit.links), query.text or sentence, sides[0]),
    )
