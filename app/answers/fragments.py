"""Fragments, links and phrases as JSON, with their words and boxes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from app.schemas.fields import Corners
from app.schemas.hits import FragmentOut, LinkOut, PhraseOut
from index.search.requests import Hit
from models.scores.alignment import Phrase
from models.types import Box, FragmentBag, Link, Span


def fragments(bag: FragmentBag) -> list[FragmentOut]:
    """A bag's fragments as JSON."""
    return [
        FragmentOut(label=label, span=ends(bag.places[number]), box=corners(bag.places[number]))
        for number, label in enumerate(bag.labels)
    ]


def links(links: Sequence[Link], sentence: FragmentBag, image: FragmentBag) -> list[LinkOut]:
    """Links as JSON, with both ends.

    With sum_of_max the score is Σ_t max_i v_iᵀ s_t, of the fragments s_t of `sentence` and v_i of
    `image`. A link is a term of this sum.
    """
    spans = _list_ends(sentence.places)
    boxes = {region: corners(image.places[region]) for region in {link.region for link in links}}
    return [
        _write_link(link, sentence.labels[link.fragment], spans[link.fragment], boxes[link.region])
        for link in links
    ]


def _write_link(
    link: Link, label: str, span: tuple[int, int] | None, box: Corners | None = None
) -> LinkOut:
    """A link as JSON, with its label and places."""
    return LinkOut(
        label=label,
        span=span,
        box=box,
        fragment=link.fragment,
        region=link.region,
        similarity=link.similarity,
        whole=link.whole,
        added=link.added,
        negated=link.negated,
    )


def phrases(phrases: Sequence[Phrase], text: str | None, image: FragmentBag) -> list[PhraseOut]:
    """Phrases of a text with their boxes in a photo; none without text."""
    if text is None:
        return []
    return [
        PhraseOut(
            text=phrase.words(text),
            span=(phrase.span.start, phrase.span.end),
            similarity=phrase.similarity,
            whole=phrase.whole,
            added=phrase.added,
            box=None if phrase.region is None else corners(image.places[phrase.region]),
            negated=phrase.negated,
        )
        for phrase in phrases
    ]


def corners(place: Box | Span) -> Corners | None:
    """Left, top, right, bottom, to six digits; None for a span."""
    return None if isinstance(place, Span) else _round(place)


@lru_cache(maxsize=1024)  # an answer shows most boxes several times, and whole photos often
def _round(box: Box) -> Corners:
    """A box to six digits."""
    return round(box.left, 6), round(box.top, 6), round(box.right, 6), round(box.bottom, 6)


def ends(place: Box | Span) -> tuple[int, int] | None:
    """Start and end; None for a box."""
    return (place.start, place.end) if isinstance(place, Span) else None


@lru_cache(maxsize=64)  # all hits of a search have the same query
def _list_ends(places: Sequence[Box | Span]) -> tuple[tuple[int, int] | None, ...]:
    """The ends of all places."""
    return tuple(map(ends, places))


def own_words(hit: Hit) -> list[LinkOut]:
    """Links to the words of a found sentence.

    A query by text scores it by the same sum: s_t are the query's fragments, v_i the found
    sentence's, so `region` is a fragment of the found one and the label is its word.
    """
    labels, places = hit.bag.labels, hit.bag.places
    return [_write_link(link, labels[link.region], ends(places[link.region])) for link in hit.links]
