"""Alignments, groundings and captions as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from app.answers.fragments import corners, fragments, links, phrases
from app.answers.items import photo_address
from app.answers.photo_words import explain_words
from app.engine.descriptions import Description, describe
from app.engine.engine import Engine
from app.engine.groundings import GroundedPhrase, ground
from app.engine.inference import Alignment
from app.schemas.explain import (
    AlignmentOut,
    AlignRequest,
    AttentionOut,
    BoxOut,
    CaptionOut,
    CaptionRequest,
    CaptionsOut,
    CaptionWordOut,
    GroundedOut,
    GroundingOut,
    GroundRequest,
    RegionOut,
)
from app.schemas.fields import Corners
from app.schemas.hits import WordGave
from app.telemetry.requests import note, stage
from models.captions.support import SupportedCaption
from models.text.queries import Query
from models.types import FragmentBag
from models.vision import images
from models.vision.images import Photo

WHOLE: Corners = (0, 0, 1, 1)


class About(TypedDict):
    """The fields of every explanation of a photo."""

    text: str
    image: str | None
    width: int
    height: int
    notes: list[str]


def align_photo(
    engine: Engine, request: AlignRequest, sent: Photo | None
) -> tuple[Photo, Alignment]:
    """Align the photo of a request with its text."""
    note(query=request.text)
    photo, bag = _read_photo(engine, request, sent)
    query = engine.models.query(request.text, of_photos=True)
    bag = bag or engine.models.photo(photo)
    return photo, engine.models.align(bag, query, beta=request.beta)


def ground_phrases(
    engine: Engine, request: GroundRequest, sent: Photo | None
) -> tuple[Photo, list[GroundedPhrase]]:
    """Find the boxes of the phrases of a request in its photo."""
    note(query=request.text)
    photo, bag = _read_photo(engine, request, sent)
    text, phrases, count = request.text, request.phrases, request.count
    return photo, ground(engine.models, photo, text, phrases, count=count, bag=bag)


def describe_photo(
    engine: Engine, request: CaptionRequest, sent: Photo | None, regions: int
) -> tuple[Photo, Description]:
    """Write captions of a request's photo and of some regions."""
    generation = request.generation
    photo, bag = _read_photo(engine, request, sent)
    return photo, describe(engine.models, photo, generation, regions=regions, bag=bag)


def _read_photo(
    engine: Engine, request: AlignRequest | CaptionRequest | GroundRequest, sent: Photo | None
) -> tuple[Photo, FragmentBag | None]:
    """Return the sent photo, or the stored photo with its bag."""
    if (request.id is None) == (sent is None):
        raise ValueError("send either an image or the id of a stored item")
    if sent is not None:
        return sent, None
    assert request.id is not None
    bag, picture = engine.item_photo(request.collection, request.id, request.photo)
    with stage("decode"):
        return images.decode(picture.jpeg), bag


def about(request: AlignRequest | GroundRequest, photo: Photo, notes: Sequence[str] = ()) -> About:
    """Return the text, photo and notes of an explanation."""
    height, width = photo.pixels.shape[1:]
    address = None
    if request.id is not None:
        address = photo_address(request.collection, request.id, request.photo)
    return {
        "text": request.text,
        "image": address,
        "width": width,
        "height": height,
        "notes": [*photo.notes, *notes],
    }


def find_words(engine: Engine, request: AlignRequest, query: Query) -> list[WordGave]:
    """Find what the words of a request's stored item give to its score."""
    if request.id is None:
        return []
    return explain_words(engine, request.collection, request.id, request.text, query)


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
