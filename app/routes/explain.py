"""Explanations of one photo: /align, /ground and /caption."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request, Response

from app.access.door import EngineDep, require_role
from app.answers import explain as explanations
from app.answers.explain import About
from app.answers.items import photo_address
from app.answers.photos import explain_words
from app.drawing.explanations import (
    PNG,
    SVG,
    DrawnLink,
    draw_alignment,
    draw_caption,
    draw_grounding,
)
from app.engine.engine import Engine
from app.engine.inference import NoCaptioner, NoRegionCaptioner
from app.http.errors import NotAcceptable
from app.http.headers import negotiate
from app.http.openapi import OF_COLLECTION, OF_UPLOAD, BodyRoute, Responses, problems
from app.routes.uploads import Upload, UploadBody, answer
from app.schemas.explain import (
    AlignmentOut,
    AlignRequest,
    CaptionRequest,
    CaptionsOut,
    GroundingOut,
    GroundRequest,
)
from app.schemas.hits import WordGave
from app.telemetry.requests import note, stage
from index.catalog.pictures import PictureLost
from models.types import Box, FragmentBag, Span
from models.vision import images
from models.vision.images import Photo

router = APIRouter(
    route_class=BodyRoute,
    tags=["explain"],
    responses=problems(*OF_COLLECTION, *OF_UPLOAD, PictureLost, NoCaptioner),
)

JSON = "application/json"
PICTURES: Responses = {200: {"content": {PNG: {}, SVG: {}}}, **problems(NotAcceptable)}


@router.post(
    "/align",
    dependencies=[require_role("read")],
    response_model=AlignmentOut,
    responses=PICTURES,
)
async def align(
    upload: UploadBody[AlignRequest],
    request: Request,
    engine: EngineDep,
) -> Response:
    """Align regions with words; `Accept` chooses JSON, image/png or image/svg+xml."""
    kind = negotiate(request.headers.get("accept", ""), (JSON, PNG, SVG))
    fields = upload.fields
    note(query=fields.text)

    def explain() -> AlignmentOut | Response:
        photo, bag = _read_photo(engine, upload)
        query = engine.models.query(fields.text, of_photos=True)
        alignment = engine.models.align(bag or engine.models.photo(photo), query, beta=fields.beta)
        words = list[WordGave]()
        if fields.id is not None:
            words = explain_words(engine, fields.collection, fields.id, fields.text, query)
        if kind != JSON:
            links = [_draw_word(fields, word) for word in words]
            drawn = draw_alignment(photo.pixels, fields.text, alignment, kind, links)
            return Response(drawn, media_type=kind)
        return explanations.alignment(alignment, _describe_sent(fields, photo, query.notes), words)

    return await answer(upload, explain)


@router.post(
    "/ground",
    dependencies=[require_role("read")],
    response_model=GroundingOut,
    responses=PICTURES,
)
async def ground(
    upload: UploadBody[GroundRequest],
    request: Request,
    engine: EngineDep,
) -> Response:
    """Locate phrases; `Accept` chooses JSON, image/png or image/svg+xml."""
    kind = negotiate(request.headers.get("accept", ""), (JSON, PNG, SVG))
    fields = upload.fields
    note(query=fields.text)

    def explain() -> GroundingOut | Response:
        photo, bag = _read_photo(engine, upload)
        grounded = engine.models.ground(
            photo, fields.text, fields.phrases, count=fields.count, bag=bag
        )
        if kind != JSON:
            drawn = draw_grounding(photo.pixels, fields.text, grounded, kind)
            return Response(drawn, media_type=kind)
        return explanations.grounding(
            grounded, _describe_sent(fields, photo, engine.models.notes(fields.text))
        )

    return await answer(upload, explain)


@router.post(
    "/caption",
    dependencies=[require_role("read")],
    response_model=CaptionsOut,
    responses=PICTURES | problems(NoCaptioner, NoRegionCaptioner, *OF_UPLOAD, *OF_COLLECTION),
)
async def caption(
    upload: UploadBody[CaptionRequest],
    request: Request,
    engine: EngineDep,
) -> Response:
    """Describe a photo and its regions; `Accept` chooses JSON, image/png or image/svg+xml.

    A picture shows the best caption alone.
    """
    kind = negotiate(request.headers.get("accept", ""), (JSON, PNG, SVG))
    fields, models = upload.fields, engine.models
    generation = fields.generation
    regions = fields.regions if kind == JSON else 0

    def explain() -> CaptionsOut | Response:
        photo, bag = _read_photo(engine, upload)
        described = models.describe(photo, generation, regions=regions, bag=bag)
        if kind != JSON:
            drawn = draw_caption(photo.pixels, described.best, kind)
            return Response(drawn, media_type=kind)
        return explanations.captions(described, models.unsure_below, photo.notes)

    return await answer(upload, explain)


def _draw_word(fields: AlignRequest, word: WordGave) -> DrawnLink:
    """Draw an item's word, with its first box in the photo."""
    start = max(0, fields.text.find(word.word))
    span = Span(start, start + len(word.word))
    places = (place.box for place in word.boxes if place.photo == fields.photo)
    box = next((Box(*corners) for corners in places), None)
    label = f"“{word.word}” in {word.field}"
    return DrawnLink(span, label, box, word.gave, of_photo=box is not None)


def _describe_sent(
    fields: AlignRequest | GroundRequest, photo: Photo, notes: Sequence[str] = ()
) -> About:
    """Return the text, photo and notes of an explanation."""
    height, width = photo.pixels.shape[1:]
    return {
        "text": fields.text,
        "image": None
        if fields.id is None
        else photo_address(fields.collection, fields.id, fields.photo),
        "width": width,
        "height": height,
        "notes": [*photo.notes, *notes],
    }


def _read_photo(
    engine: Engine, upload: Upload[AlignRequest] | Upload[CaptionRequest] | Upload[GroundRequest]
) -> tuple[Photo, FragmentBag | None]:
    """Return the uploaded photo, or the stored photo with its bag."""
    fields, photo = upload.fields, upload.photo()
    if (fields.id is None) == (photo is None):
        raise ValueError("send either an image or the id of a stored item")
    if photo is not None:
        return photo, None
    assert fields.id is not None
    bag, picture = engine.item_photo(fields.collection, fields.id, fields.photo)
    with stage("decode"):
        return images.decode(picture.jpeg), bag
