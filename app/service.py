"""How results become answers: links with their words and boxes, addresses of photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import TypedDict, TypeVar
from urllib.parse import quote

from app.cursors import Cursors, following, placed
from app.engine import DEFAULT_COLLECTION, Alignment, Engine, Grounded
from app.schemas import (
    AlignmentOut,
    AuditOut,
    AuditRequest,
    BoxOut,
    Corners,
    FragmentOut,
    GroundedOut,
    GroundingOut,
    ImageHit,
    ImageHits,
    IndexOut,
    ItemOut,
    LinkOut,
    PhraseOut,
    QueryOut,
    Search,
    SearchedOut,
    SentenceHit,
    SentenceHits,
    SideOut,
)
from index.items import Item
from index.requests import Hit, Request
from index.rows import Side
from index.snapshot import Snapshot
from models import alignment
from models.alignment import Phrase
from models.images import Photo
from models.queries import Query
from models.types import Box, FragmentBag, Link, Span


def read_query(engine: Engine, asked: Search, photo: Photo | None) -> Query:
    """The one query that a request brought; ValueError if there is none or more than one."""
    sent = {"text": asked.text, "phrases": asked.phrases, "id": asked.id, "image": photo}
    named = [name for name, value in sent.items() if value is not None]
    if len(named) != 1:
        raise ValueError(
            f"send one of text, phrases, id or image; got {' and '.join(named) or 'none'}"
        )
    if asked.box is not None and photo is None:
        raise ValueError("box: it chooses a part of an uploaded image; send an image with it")
    if asked.text is not None:
        return engine.query(asked.text)
    if asked.phrases is not None:
        return engine.phrases([(one.text, one.weight) for one in asked.phrases])
    if asked.id is not None:
        return Query.of(engine.item_photo(asked.collection, asked.id)[0])
    assert photo is not None
    return Query.of(engine.photo(photo, part(asked.box)), photo.notes)


def query_out(query: Query) -> QueryOut:
    """The query as a client reads it."""
    return QueryOut(text=query.text, fragments=fragments(query.bag), notes=list(query.notes))


def part(corners: Corners | None) -> Box | None:
    """The box with these corners; ValueError if it is empty."""
    if corners is None:
        return None
    box = Box(*corners)
    if box.left >= box.right or box.top >= box.bottom:
        raise ValueError("box: left must be less than right, and top less than bottom")
    return box


def search_images(engine: Engine, asked: Search, query: Query) -> ImageHits:
    """A page of the photos that answer a query."""
    hits, about = _answered(engine, asked, query, "images", _image_hit)
    return ImageHits(hits=hits, **about)


def search_sentences(engine: Engine, asked: Search, query: Query) -> SentenceHits:
    """A page of the sentences that match a query."""
    hits, about = _answered(engine, asked, query, "sentences", _sentence_hit)
    return SentenceHits(hits=hits, **about)


HitOut = TypeVar("HitOut", ImageHit, SentenceHit)


class AboutHits(TypedDict):
    """What every page of hits says."""

    collection: str
    model: str
    query: QueryOut
    weak_below: float | None
    searched: SearchedOut
    cursor: str | None


def _answered(
    engine: Engine,
    asked: Search,
    query: Query,
    side: Side,
    told: Callable[[str, Query, Hit, Item], HitOut],
) -> tuple[list[HitOut], AboutHits]:
    """A page of hits as they are told, and what there is to say about them."""
    request = Request(
        side,
        query,
        limit=asked.limit,
        where=asked.filter,
        least=asked.min_probability,
        exact=asked.exact,
    )
    cursors = Cursors(engine.catalog.secret)
    request = placed(cursors, asked, request)
    answer = engine.search(asked.collection, request)
    ids = [hit.item for hit in answer.hits]
    items = engine.catalog.get_many(engine.open(asked.collection), ids)
    hits = [
        told(asked.collection, query, hit, items[hit.item])
        for hit in answer.hits
        if hit.item in items  # one that was deleted since the search is not
    ]
    return hits, AboutHits(
        collection=asked.collection,
        model=engine.matcher_checkpoint.name,
        query=query_out(query),
        weak_below=engine.weak_below,
        searched=SearchedOut.model_validate(answer, from_attributes=True),
        cursor=following(cursors, asked, request, answer),
    )


def index(engine: Engine, collection: str) -> IndexOut:
    """How a collection is searched."""
    snapshot = engine.snapshot(collection)
    return IndexOut(
        collection=collection,
        segments=len(snapshot.published),
        bytes=sum(segment.size for segment in snapshot.segments),
        revision=snapshot.revision,
        behind=snapshot.behind,
        images=_side(snapshot, "images"),
        sentences=_side(snapshot, "sentences"),
    )


def _side(snapshot: Snapshot, side: Side) -> SideOut:
    found_by: Counter[str] = Counter()
    for segment in snapshot.segments:
        structure = segment.structures.get(side)
        found_by[structure.kind if structure else "scan"] += int(segment.side(side).live.sum())
    in_memory = sum(int(segment.side(side).live.sum()) for segment in snapshot.tail)
    return SideOut(rows=found_by.total(), in_memory=in_memory, found_by=dict(found_by))


def audit(engine: Engine, asked: AuditRequest) -> AuditOut:
    """How much of exact answers the usual ones hold."""
    requests = None
    if asked.queries is not None:
        queries = [engine.query(text) for text in asked.queries]
        requests = [Request("images", query, limit=asked.limit) for query in queries if query.parts]
    found = engine.audit(asked.collection, requests)
    return AuditOut(
        collection=asked.collection,
        queries=len(found.recalls),
        recall=found.recall,
        worst=found.worst,
    )


class About(TypedDict):
    """What every explanation of a photo says."""

    text: str
    image: str | None
    width: int
    height: int
    notes: list[str]


def explanation(found: Alignment, about: About) -> AlignmentOut:
    """An alignment as JSON."""
    text = about["text"]
    boxes = [corners(box) for box in found.image.places]
    assert None not in boxes
    return AlignmentOut(
        **about,
        score=found.score,
        fragments=fragments(found.query.bag),
        boxes=[box for box in boxes if box],
        links=links(found.links, found.query.bag, found.image),
        phrases=phrases(found.phrases, text, found.image),
    )


def grounding(found: Sequence[Grounded], about: About) -> GroundingOut:
    """What phrases mean as JSON."""
    text = about["text"]
    return GroundingOut(
        **about,
        phrases=[
            GroundedOut(
                text=text[one.span.start : one.span.end],
                span=(one.span.start, one.span.end),
                probability=one.probability,
                present=one.present,
                boxes=[
                    BoxOut(box=corners(box) or (0, 0, 1, 1), similarity=similarity)
                    for box, similarity in one.boxes
                ],
            )
            for one in found
        ],
    )


def item(collection: str, stored: Item) -> ItemOut:
    """A stored item as JSON."""
    return ItemOut(
        id=stored.id,
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        image=_photo_address(collection, stored),
        width=stored.width,
        height=stored.height,
    )


def photo_address(collection: str, item: str) -> str:
    """Where an item's photo is."""
    query = "" if collection == DEFAULT_COLLECTION else f"?collection={quote(collection, safe='')}"
    return f"/items/{quote(item, safe='')}/image{query}"


def fragments(bag: FragmentBag) -> list[FragmentOut]:
    """A bag's fragments as JSON."""
    return [
        FragmentOut(label=label, span=ends(bag.places[number]), box=corners(bag.places[number]))
        for number, label in enumerate(bag.labels)
    ]


def links(found: Sequence[Link], sentence: FragmentBag, image: FragmentBag) -> list[LinkOut]:
    """Links with the places of both their ends; `sentence` is the side that is summed over."""
    return [
        LinkOut(
            label=sentence.labels[link.fragment],
            span=ends(sentence.places[link.fragment]),
            box=corners(image.places[link.region]),
            fragment=link.fragment,
            region=link.region,
            similarity=link.similarity,
            whole=link.whole,
            added=link.added,
            negated=link.negated,
        )
        for link in found
    ]


def phrases(found: Sequence[Phrase], text: str, image: FragmentBag) -> list[PhraseOut]:
    """Phrases of a text with their boxes in a photo."""
    return [
        PhraseOut(
            text=text[phrase.span.start : phrase.span.end],
            span=(phrase.span.start, phrase.span.end),
            similarity=phrase.similarity,
            whole=phrase.whole,
            added=phrase.added,
            box=None if phrase.region is None else corners(image.places[phrase.region]),
            negated=phrase.negated,
        )
        for phrase in found
    ]


def corners(place: Box | Span) -> Corners | None:
    """Left, top, right, bottom, without the noise of 32 bits; None for a span."""
    if isinstance(place, Span):
        return None
    left, top, right, bottom = (round(edge, 6) for edge in astuple(place))
    return left, top, right, bottom


def ends(place: Box | Span) -> tuple[int, int] | None:
    """Start and end; None for a box."""
    return (place.start, place.end) if isinstance(place, Span) else None


def _image_hit(collection: str, query: Query, hit: Hit, stored: Item) -> ImageHit:
    return ImageHit(
        id=hit.item,
        score=hit.score,
        probability=hit.probability,
        image=photo_address(collection, hit.item),
        width=stored.width,
        height=stored.height,
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        links=links(hit.links, query.bag, hit.bag),
        phrases=_phrases(query, query.text, hit.bag, hit),
    )


def _sentence_hit(collection: str, query: Query, hit: Hit, stored: Item) -> SentenceHit:
    assert hit.position is not None
    sentence = stored.sentences[hit.position] if hit.position < len(stored.sentences) else ""
    return SentenceHit(
        id=hit.item,
        position=hit.position,
        sentence=sentence,
        score=hit.score,
        probability=hit.probability,
        image=_photo_address(collection, stored),
        metadata=stored.metadata,
        links=links(hit.links, hit.bag, query.bag) if query.text is None else _words(hit),
        phrases=_phrases(Query.of(hit.bag), sentence, query.bag, hit)
        if query.text is None
        else _phrases(query, query.text, hit.bag, hit),
    )


def _phrases(sentence: Query, text: str | None, image: FragmentBag, hit: Hit) -> list[PhraseOut]:
    """A hit's links by the phrases of the text on the sentence's side; none for a photo there."""
    if text is None:
        return []
    return phrases(alignment.phrases(image, sentence, hit.links), text, image)


def _words(hit: Hit) -> list[LinkOut]:
    """The links of a sentence found by a text, which plays the sentence's role: its own words."""
    return [
        LinkOut(
            label=hit.bag.labels[link.region],
            span=ends(hit.bag.places[link.region]),
            fragment=link.fragment,
            region=link.region,
            similarity=link.similarity,
            negated=link.negated,
        )
        for link in hit.links
    ]


def _photo_address(collection: str, stored: Item) -> str | None:
    return photo_address(collection, stored.id) if stored.width else None
