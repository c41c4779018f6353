"""Why a photo answers a sentence, and what a photo shows: /align, /ground and /caption."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from app import service
from app.engine import Alignment, Engine, Grounded
from app.errors import NotAcceptable
from app.pictures import DrawnLink, draw_png, draw_svg
from app.routes.dependencies import EngineDep, GateDep
from app.schemas import (
    AlignmentOut,
    AlignRequest,
    CaptionOut,
    CaptionRequest,
    CaptionsOut,
    GroundingOut,
    GroundRequest,
)
from app.uploads import Upload, body_of, reads
from models import images
from models.images import Photo
from models.types import WHOLE_FRAME, Box, FragmentBag

router = APIRouter(tags=["explain"])

JSON, PNG, SVG = "application/json", "image/png", "image/svg+xml"
PICTURES: dict[int | str, dict[str, Any]] = {200: {"content": {PNG: {}, SVG: {}}}}


@router.post(
    "/align", response_model=AlignmentOut, responses=PICTURES, openapi_extra=body_of(AlignRequest)
)
def align(
    upload: Annotated[Upload[AlignRequest], Depends(reads(AlignRequest))],
    request: Request,
    engine: EngineDep,
    gate: GateDep,
) -> AlignmentOut | Response:
    """Say which region answers which words; `Accept` chooses JSON, image/png or image/svg+xml."""
    kind = acceptable(request.headers.get("accept", "*/*"), (JSON, PNG, SVG))
    asked = upload.fields
    with gate:
        photo, bag = _photo(engine, upload)
        query = engine.query(asked.text)
        found = engine.align(bag or engine.photo(photo), query, beta=asked.beta)
        if kind != JSON:
            return draw(photo, asked.text, found, kind)
    return service.explanation(found, about(asked, photo, query.notes))


@router.post(
    "/ground", response_model=GroundingOut, responses=PICTURES, openapi_extra=body_of(GroundRequest)
)
def ground(
    upload: Annotated[Upload[GroundRequest], Depends(reads(GroundRequest))],
    request: Request,
    engine: EngineDep,
    gate: GateDep,
) -> GroundingOut | Response:
    """Find what phrases mean; `Accept` chooses JSON, image/png or image/svg+xml."""
    kind = acceptable(request.headers.get("accept", "*/*"), (JSON, PNG, SVG))
    asked = upload.fields
    with gate:
        photo, bag = _photo(engine, upload)
        phrases = asked.phrases or [asked.text]
        found = engine.ground(photo, asked.text, phrases, count=asked.count, bag=bag)
        if kind != JSON:
            return draw_grounding(photo, asked.text, found, kind)
    return service.grounding(found, about(asked, photo))


@router.post("/caption", openapi_extra=body_of(CaptionRequest))
def caption(
    upload: Annotated[Upload[CaptionRequest], Depends(reads(CaptionRequest))],
    engine: EngineDep,
    gate: GateDep,
) -> CaptionsOut:
    """Describe a photo in sentences, the likeliest first."""
    asked = upload.fields
    if asked.count > asked.beam:
        raise ValueError(f"count: a beam of {asked.beam} gives at most as many captions")
    with gate:
        photo, bag = _photo(engine, upload)
        captions = engine.describe(photo, beam=asked.beam, count=asked.count)
        told = engine.caption_probabilities(photo, captions, bag)
    return CaptionsOut(
        captions=[
            CaptionOut(text=c.text, log_probability=c.log_probability, probability=probability)
            for c, probability in zip(captions, told, strict=True)
        ],
        unsure_below=engine.weak_below,
        notes=list(photo.notes),
    )


def about(
    asked: AlignRequest | GroundRequest, photo: Photo, notes: Sequence[str] = ()
) -> service.About:
    """What every explanation says of its text and photo."""
    height, width = photo.pixels.shape[1:]
    return {
        "text": asked.text,
        "image": None if asked.id is None else service.photo_address(asked.collection, asked.id),
        "width": width,
        "height": height,
        "notes": [*photo.notes, *notes],
    }


def draw(photo: Photo, text: str, found: Alignment, kind: str) -> Response:
    """An alignment as a picture."""
    drawn = []
    for phrase in found.phrases:
        box = WHOLE_FRAME if phrase.region is None else found.image.places[phrase.region]
        assert isinstance(box, Box)
        words = text[phrase.span.start : phrase.span.end]
        drawn.append(DrawnLink(phrase.span, words, box, phrase.similarity))
    return picture(photo, text, drawn, found.score, kind)


def draw_grounding(photo: Photo, text: str, found: Sequence[Grounded], kind: str) -> Response:
    """Phrases and the best box of each as a picture; those that are not there have none."""
    drawn = [
        DrawnLink(one.span, text[one.span.start : one.span.end], *one.boxes[0])
        for one in found
        if one.present
    ]
    return picture(photo, text, drawn, None, kind)


def picture(
    photo: Photo, text: str, drawn: Sequence[DrawnLink], score: float | None, kind: str
) -> Response:
    """Words and their boxes as a picture."""
    if kind == PNG:
        return Response(draw_png(photo.pixels, text, drawn, score), media_type=PNG)
    return Response(draw_svg(photo.pixels, text, drawn, score), media_type=SVG)


def acceptable(accept: str, offered: tuple[str, ...]) -> str:
    """The offered media type that an Accept header likes best; NotAcceptable if it likes none."""
    wanted = sorted(map(_quality, accept.split(",")), reverse=True)
    for quality, _, kind in wanted:
        found = next((one for one in offered if fnmatchcase(one, kind)), None)
        if quality > 0 and found:
            return found
    raise NotAcceptable(f"this can be had as {', '.join(offered)}, and Accept names none of these")


def _quality(choice: str) -> tuple[float, int, str]:
    """How much one choice of an Accept header is liked, how exact it is, and its media type."""
    kind, *parameters = (part.strip().lower() for part in choice.split(";"))
    quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return float(quality), -kind.count("*"), kind
    except ValueError as odd:
        raise NotAcceptable(f"Accept: q must be a number, got {quality!r:.20}") from odd


def _photo(
    engine: Engine, upload: Upload[AlignRequest] | Upload[CaptionRequest] | Upload[GroundRequest]
) -> tuple[Photo, FragmentBag | None]:
    """The photo that a request uploaded, or the stored one that it named, with its bag."""
    asked, photo = upload.fields, upload.photo()
    if (asked.id is None) == (photo is None):
        raise ValueError("send either an image or the id of a stored item")
    if photo is not None:
        return photo, None
    assert asked.id is not None
    bag, picture = engine.item_photo(asked.collection, asked.id)
    return images.decode(picture.jpeg), bag
