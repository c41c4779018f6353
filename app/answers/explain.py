"""Alignments, groundings and captions as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from app.answers.fragments import corners, fragments, links, phrases
from app.engine.inference import Alignment, Description, GroundedPhrase
from app.schemas.explain import (
    AlignmentOut,
    AttentionOut,
    BoxOut,
    CaptionOut,
    CaptionsOut,
    CaptionWordOut,
    GroundedOut,
    GroundingOut,
    RegionOut,
)
from app.schemas.fields import Corners
from app.schemas.hits import WordGave
from models.captions.support import SupportedCaption

WHOLE: Corners = (0, 0, 1, 1)


class About(TypedDict):
    """The fields of every explanation of a photo."""

    text: str
    image: str | None
    width: int
    height: int
    notes: list[str]


def alignment(aligned: Alignment, about: About, words: Sequence[WordGave]) -> AlignmentOut:
    """An alignment as JSON, with the shares of a stored item's words."""
    text = about["text"]
    boxes = [corners(box) for box in aligned.image.places]
    assert None not in boxes
    return AlignmentOut(
        **about,
        score=aligned.score + sum(word.gave for word in words),
        fragments=fragments(aligned.query.bag),
        boxes=[box for box in boxes if box],
        links=links(aligned.links, aligned.query.bag, aligned.image),
        phrases=phrases(aligned.phrases, text, aligned.image),
        words=list(words),
    )


def grounding(grounded: Sequence[GroundedPhrase], about: About) -> GroundingOut:
    """Grounded phrases as JSON."""
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
                    BoxOut(box=corners(box) or WHOLE, similarity=similarity)
                    for box, similarity in phrase.boxes
                ],
            )
            for phrase in grounded
        ],
    )


def captions(
    described: Description, unsure_below: float | None, notes: Sequence[str]
) -> CaptionsOut:
    """Captions of a photo and of its regions as JSON."""
    return CaptionsOut(
        captions=[caption(supported, unsure_below) for supported in described.captions],
        regions=[
            RegionOut(
                box=corners(region.box) or WHOLE,
                caption=region.caption.text,
                log_probability=region.caption.log_probability,
                probability=region.probability,
                score=region.score,
            )
            for region in described.regions
        ],
        unsure_below=unsure_below,
        notes=list(notes),
    )


def caption(supported: SupportedCaption, unsure_below: float | None) -> CaptionOut:
    """A caption as JSON, with the support of its words."""
    return CaptionOut(
        text=supported.text,
        log_probability=supported.caption.log_probability,
        probability=supported.probability,
        unsure=supported.unsure(unsure_below),
        score=supported.score,
        words=[
            CaptionWordOut(
                text=word.span.of(supported.text),
                span=(word.span.start, word.span.end),
                log_probability=word.log_probability,
                contribution=word.contribution,
                box=None if word.box is None else corners(word.box),
                confidence=word.confidence,
                supported=word.supported,
                attention=None
                if word.attention is None
                else AttentionOut(
                    box=corners(word.attention.box) or WHOLE, share=word.attention.share
                ),
            )
            for word in supported.words
        ],
    )
