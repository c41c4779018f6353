"""Alignments, groundings and captions as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from app.answers.fragments import corners, fragments, links, phrases
from app.inference import Alignment, GroundedPhrase
from app.schemas.explain import (
    AlignmentOut,
    BoxOut,
    CaptionOut,
    CaptionsOut,
    GroundedOut,
    GroundingOut,
)
from models.registry import Caption


class About(TypedDict):
    """What every explanation of a photo says."""

    text: str
    image: str | None
    width: int
    height: int
    notes: list[str]


def alignment(aligned: Alignment, about: About) -> AlignmentOut:
    """An alignment as JSON."""
    text = about["text"]
    boxes = [corners(box) for box in aligned.image.places]
    assert None not in boxes
    return AlignmentOut(
        **about,
        score=aligned.score,
        fragments=fragments(aligned.query.bag),
        boxes=[box for box in boxes if box],
        links=links(aligned.links, aligned.query.bag, aligned.image),
        phrases=phrases(aligned.phrases, text, aligned.image),
    )


def grounding(grounded: Sequence[GroundedPhrase], about: About) -> GroundingOut:
    """What phrases mean as JSON."""
    text = about["text"]
    return GroundingOut(
        **about,
        phrases=[
            GroundedOut(
                text=text[phrase.span.start : phrase.span.end],
                span=(phrase.span.start, phrase.span.end),
                probability=phrase.probability,
                present=phrase.present,
                boxes=[
                    BoxOut(box=corners(box) or (0, 0, 1, 1), similarity=similarity)
                    for box, similarity in phrase.boxes
                ],
            )
            for phrase in grounded
        ],
    )


def captions(
    described: Sequence[Caption],
    probabilities: Sequence[float | None],
    unsure_below: float | None,
    notes: Sequence[str],
) -> CaptionsOut:
    """Captions as JSON, each with the probability that the photo shows what it says."""
    return CaptionsOut(
        captions=[
            CaptionOut(
                text=caption.text,
                log_probability=caption.log_probability,
                probability=probability,
            )
            for caption, probability in zip(described, probabilities, strict=True)
        ],
        unsure_below=unsure_below,
        notes=list(notes),
    )
