"""Explanations of one photo: /align, /ground and /caption."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.access.door import EngineDep, require_role
from app.answers import explain as explanations
from app.drawing.explanations import (
    PNG,
    SVG,
    DrawnLink,
    draw_alignment,
    draw_caption,
    draw_grounding,
)
from app.engine.descriptions import NoCaptioner, NoRegionCaptioner
from app.http.errors import NotAcceptable
from app.http.headers import negotiate
from app.http.openapi import OF_COLLECTION, OF_UPLOAD, BodyRoute, Responses, problems
from app.routes.uploads import UploadBody, answer
from app.schemas.explain import (
    AlignmentOut,
    AlignRequest,
    CaptionRequest,
    CaptionsOut,
    GroundingOut,
    GroundRequest,
)
from app.schemas.hits import WordGave
from index.catalog.pictures import PictureLost
from models.types import Box, Span

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

    def explain() -> AlignmentOut | Response:
        photo, aligned = explanations.align_photo(engine, fields, upload.photo())
        words = explanations.find_words(engine, fields, aligned.query)
        if kind != JSON:
            links = [_draw_word(fields, word) for word in words]
            drawn = draw_alignment(photo.pixels, fields.text, aligned, kind, links)
            return Response(drawn, media_type=kind)
        about = explanations.about(fields, photo, aligned.query.notes)
        return explanations.alignment(aligned, about, words)

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

    def explain() -> GroundingOut | Response:
        photo, grounded = explanations.ground_phrases(engine, fields, upload.photo())
        if kind != JSON:
            drawn = draw_grounding(photo.pixels, fields.text, grounded, kind)
            return Response(drawn, media_type=kind)
        about = explanations.about(fields, photo, engine.models.notes(fields.text))
        return explanations.grounding(grounded, about)

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
    fields = upload.fields
    regions = fields.regions if kind == JSON else 0

    def explain() -> CaptionsOut | Response:
        photo, described = explanations.describe_photo(engine, fields, upload.photo(), regions)
        if kind != JSON:
            drawn = draw_caption(photo.pixels, described.best, kind)
            return Response(drawn, media_type=kind)
        return explanations.captions(described, engine.models.unsure_below, photo.notes)

    return await answer(upload, explain)


def _draw_word(fields: AlignRequest, word: WordGave) -> DrawnLink:
    """Draw an item's word, with its first box in the photo."""
    start = max(0, fields.text.find(word.word))
    span = Span(start, start + len(word.word))
    places = (place.box for place in word.boxes if place.photo == fields.photo)
    box = next((Box(*corners) for corners in places), None)
    label = f"“{word.word}” in {word.field}"
    return DrawnLink(span, label, box, word.gave, of_photo=box is not None)
