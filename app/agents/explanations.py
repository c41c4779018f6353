"""Explanations as tools, and a look at items and collections."""

from __future__ import annotations

from functools import partial
from typing import Any

from app.agents.findings import Finding, prove_phrases, prove_words
from app.agents.pictures import show_all, show_drawing, show_photo
from app.agents.questions import CaptionQuestion, HitQuestion, ItemQuestion, NoQuestion
from app.answers import collections as collection_answers
from app.answers import explain as explanations
from app.answers.items import item_out
from app.drawing.explanations import PNG, draw_alignment
from app.engine.engine import Engine
from app.schemas.explain import AlignRequest, CaptionRequest


def explain(engine: Engine, asked: HitQuestion) -> Finding:
    """Explain a photo by a text: phrases with their boxes."""
    request = asked.request(AlignRequest)
    photo, aligned = explanations.align_photo(engine, request, None)
    about = explanations.about(request, photo, aligned.query.notes)
    words = explanations.find_words(engine, request, aligned.query)
    answer = explanations.alignment(aligned, about, words)
    given = sum(word.gave for word in words)
    probability = engine.models.probability(aligned.image, aligned.query, given)
    weak_below = engine.models.weak_below
    fields = {
        "id": asked.id,
        "verdict": _judge(probability, weak_below),
        "probability": probability and round(probability, 4),
        "weak_below": weak_below,
        "score": round(answer.score, 4),
        "proof": prove_phrases(answer.phrases) + prove_words(words),
        "notes": answer.notes,
        "image": answer.image,
    }
    if not asked.pictures:
        return Finding(fields)
    drawn = draw_alignment(photo.pixels, asked.text, aligned, PNG)
    return Finding(fields | {"pictures": [f"{asked.id} with the boxes"]}, (show_drawing(drawn),))


def _judge(probability: float | None, weak_below: float | None) -> str | None:
    if probability is None or weak_below is None:
        return None
    if probability < weak_below:
        return "The photo hardly looks like that."
    return "The photo is above the line of weak hits for that."


def describe(engine: Engine, asked: CaptionQuestion) -> Finding:
    """Describe a stored photo in sentences."""
    request = asked.request(CaptionRequest)
    photo, described = explanations.describe_photo(engine, request, None, asked.regions)
    answer = explanations.captions(described, engine.models.unsure_below, photo.notes)
    captions = [
        {
            "text": caption.text,
            "probability": caption.probability and round(caption.probability, 4),
            "unsure": caption.unsure,
            "unsupported": [word.text for word in caption.words if word.supported is False],
            "proof": [
                {"word": word.text, "gave": round(word.contribution, 4), "box": word.box}
                for word in caption.words
                if word.contribution is not None
            ],
        }
        for caption in answer.captions
    ]
    regions = [
        {"box": region.box, "caption": region.caption, "probability": region.probability}
        for region in answer.regions
    ]
    verdict = None if captions else "No sentence describes this photo well enough."
    fields = {"id": asked.id, "verdict": verdict, "captions": captions, "regions": regions}
    return _with_photo(engine, asked, fields | {"notes": answer.notes})


def look(engine: Engine, asked: ItemQuestion) -> Finding:
    """Look at a stored item."""
    item = item_out(asked.collection, engine.read(asked.collection, engine.catalog.get, asked.id))
    fields = {
        "id": item.id,
        "metadata": item.metadata,
        "sentences": item.sentences,
        "photos": [photo.image for photo in item.images],
        "notes": item.notes,
    }
    return _with_photo(engine, asked, fields) if item.images else Finding(fields)


def _with_photo(
    engine: Engine, asked: ItemQuestion | CaptionQuestion, fields: dict[str, Any]
) -> Finding:
    if not asked.pictures:
        return Finding(fields)
    show = partial(show_photo, engine, asked.collection, asked.id, asked.photo, "medium")
    shown, pictures, missing = show_all([(asked.id, show)])
    notes = [*fields["notes"], *missing]
    return Finding(fields | {"notes": notes, "pictures": shown}, tuple(pictures))


def list_collections(engine: Engine, _: NoQuestion) -> Finding:
    """List the caller's collections."""
    answer = collection_answers.collections(engine)
    chosen = {"name", "aliases", "items", "coming", "usable"}
    return Finding(
        {"collections": [each.model_dump(include=chosen) for each in answer.collections]}
    )
