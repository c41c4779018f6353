"""Searches as tools: a verdict, hits with their proof, and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from app.agents.findings import Finding, Hit, describe_hit, describe_query, note_gaps
from app.agents.pictures import Illustration, show_all, show_part, show_photo
from app.agents.questions import (
    PhotoQuestion,
    ProductQuestion,
    RegionQuestion,
    SearchQuestion,
    SentenceQuestion,
)
from app.answers.notes import doubt
from app.answers.photos import search_images
from app.answers.products import search_products
from app.answers.regions import search_regions
from app.answers.search import search_sentences
from app.engine.engine import Engine
from app.schemas.hits import Hits
from app.schemas.products import ProductSearch
from app.schemas.regions import RegionSearch
from app.schemas.search import ImageSearch, TextSearch

NOTHING = "Nothing like that is here."
EMPTY = "Nothing is indexed in this collection yet."
NO_PROBABILITY = "These are the nearest; how probable they are is not known."


def find_photos(engine: Engine, asked: PhotoQuestion) -> Finding:
    """Find photos, with the verdict on whether any is likely."""
    fields = {"limit": asked.limit, "fields": asked.keys}
    answer = search_images(engine, asked.request(ImageSearch, **fields), None)
    listed = asked.sort is not None and not (asked.text or asked.id)
    verdict = None if listed and answer.hits else _judge(answer, answer.hits, "looks like")
    return _present(engine, asked, answer, answer.hits, verdict, {"total": answer.total})


def find_sentences(engine: Engine, asked: SentenceQuestion) -> Finding:
    """Find stored sentences."""
    fields = {"limit": asked.limit, "fields": asked.keys}
    answer = search_sentences(engine, asked.request(TextSearch, **fields), None)
    return _present(engine, asked, answer, answer.hits, _judge(answer, answer.hits, "says"), {})


def find_regions(engine: Engine, asked: RegionQuestion) -> Finding:
    """Find parts of photos."""
    fields = {"limit": asked.limit, "fields": asked.keys}
    answer = search_regions(engine, asked.request(RegionSearch, **fields), None)
    return _present(engine, asked, answer, answer.hits, _judge(answer, answer.hits, ""), {})


def find_products(engine: Engine, asked: ProductQuestion) -> Finding:
    """Find items by words and looks together."""
    answer = search_products(engine, asked.request(ProductSearch, limit=asked.limit), None)
    verdict = (None if answer.hits else NOTHING) if answer.items else EMPTY
    notes = [*answer.query.notes, *note_gaps(answer.behind, answer.complete, answer.damaged)]
    shown, pictures, missing = _show(engine, asked, answer.hits)
    fields = {
        "verdict": verdict,
        "total": answer.total,
        "read_as": answer.query.corrected,
        "hits": [describe_hit(hit, asked.keys, answer.weak_below) for hit in answer.hits],
        "notes": notes + missing,
        "pictures": shown,
        "cursor": answer.cursor,
    }
    return Finding(fields, pictures)


def _judge(answer: Hits, hits: Sequence[Hit], like: str) -> str:
    """Say in a sentence whether anything is likely."""
    if not hits:
        return NOTHING if answer.searched.rows else EMPTY
    known = [hit.probability for hit in hits if hit.probability is not None]
    if not known or answer.weak_below is None:
        return NO_PROBABILITY
    above = sum(probability >= answer.weak_below for probability in known)
    return doubt(known, answer.weak_below, like) or (
        f"{above} of these {len(hits)} are above the line of weak hits; the most probable one has "
        f"{max(known):.2f}."
    )


def _present(
    engine: Engine,
    asked: SearchQuestion,
    answer: Hits,
    hits: Sequence[Hit],
    verdict: str | None,
    more: dict[str, Any],
) -> Finding:
    """Present a page of hits, its verdict first."""
    query = describe_query(answer.query, answer.searched)
    shown, pictures, missing = _show(engine, asked, hits)
    fields = {
        "verdict": verdict,
        **more,
        **query,
        "weak_below": answer.weak_below,
        "hits": [describe_hit(hit, asked.keys, answer.weak_below) for hit in hits],
        "notes": query["notes"] + missing,
        "pictures": shown,
        "cursor": answer.cursor,
    }
    return Finding(fields, pictures)


def _show(
    engine: Engine, asked: SearchQuestion, hits: Iterable[Any]
) -> tuple[list[str], tuple[Illustration, ...], list[str]]:
    """Show the first hits with a picture."""
    pictured = [hit for hit in hits if hit.image is not None][: asked.pictures]
    shown, pictures, notes = show_all(
        (hit.id, partial(_show_hit, engine, asked.collection, hit)) for hit in pictured
    )
    return shown, tuple(pictures), notes


def _show_hit(engine: Engine, collection: str, hit: Any) -> Illustration:
    if getattr(hit, "crop", None) is not None:
        return show_part(engine, collection, hit.id, hit.photo, hit.box)
    return show_photo(engine, collection, hit.id, getattr(hit, "photo", 0))
