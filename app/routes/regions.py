"""Regions of photos: /search/regions, and a part of a photo as a picture."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.access.door import EngineDep, require_role
from app.answers.regions import read_corners, search_regions
from app.answers.search import read_box
from app.drawing.crops import JPEG, WEBP, Crop, draw_crop, draw_sheet
from app.engine.engine import Engine
from app.http.errors import NotAcceptable
from app.http.headers import is_listed, negotiate
from app.http.openapi import JSON, OF_COLLECTION, OF_UPLOAD, BodyRoute, Responses, problems
from app.routes.dependencies import DEFAULT, CallerDep, CollectionDep, ItemIdDep, LanesDep
from app.routes.uploads import UploadBody, answer
from app.schemas.regions import RegionHits, RegionSearch
from index.catalog.pictures import PictureLost

router = APIRouter(
    route_class=BodyRoute,
    tags=["search"],
    responses=problems(*OF_COLLECTION, PictureLost, NotAcceptable),
)

_BYTES = {"schema": {"type": "string", "format": "binary"}}
SHEET: Responses = {200: {"content": {WEBP: _BYTES}}}
CROP: Responses = {
    200: {"content": {JPEG: _BYTES, WEBP: _BYTES}},
    304: {"description": "The part is the one that If-None-Match names."},
}


@router.post(
    "/search/regions",
    dependencies=[require_role("read")],
    response_model=RegionHits,
    responses=SHEET | problems(*OF_COLLECTION, *OF_UPLOAD, PictureLost, NotAcceptable),
)
async def search_region(
    upload: UploadBody[RegionSearch],
    request: Request,
    engine: EngineDep,
) -> Response:
    """Rank parts of the indexed photos against a text, weighted phrases, or a photo, best first.

    `Accept` chooses JSON, or image/webp for a contact sheet of them.
    """
    kind = negotiate(request.headers.get("accept", ""), (JSON, WEBP))

    def search() -> RegionHits | Response:
        found = search_regions(engine, upload.fields, upload.photo())
        if kind == JSON:
            return found
        return Response(_draw_hits(engine, upload.fields.collection, found), media_type=WEBP)

    return await answer(upload, search)


@router.get(
    "/items/{id}/crop",
    dependencies=[require_role("read")],
    response_class=Response,
    responses=CROP,
)
async def get_crop(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    box: Annotated[
        str,
        Query(
            description="Left, top, right, bottom, 0 to 1, with commas between.",
            examples=["0.1,0.2,0.6,0.9"],
        ),
    ],
    request: Request,
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
    photo: Annotated[int, Query(ge=0, description="Which of its photos, from 0.")] = 0,
    collection: CollectionDep = DEFAULT,
) -> Response:
    """A part of one of an item's photos; `Accept` chooses image/jpeg or image/webp."""
    kind = negotiate(request.headers.get("accept", ""), (JPEG, WEBP))
    part = read_corners(box)

    def cut() -> Response:
        digest = engine.read(collection, engine.catalog.get, id).photo(photo).digest
        tag = f'"{digest}-{",".join(map(str, part))}-{kind.partition("/")[2]}"'
        # Revalidated each time, like whole photos.
        headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept"}
        if is_listed(request.headers.getlist("if-none-match"), tag):
            return Response(status_code=304, headers=headers)
        picture = engine.read(collection, engine.catalog.picture, id, photo)
        drawn = draw_crop(Crop(picture.jpeg, read_box(part)), kind)
        return Response(drawn, headers=headers, media_type=kind)

    with lanes.searches.place(caller):
        return await lanes.searches.run_for(caller, cut)


def _draw_hits(engine: Engine, collection: str, found: RegionHits) -> bytes:
    """Draw the regions of a page on a contact sheet; ValueError for none."""
    if not found.hits:
        raise ValueError("no region was found, so there is none to draw; ask for JSON to see why")
    pictures = [
        engine.read(collection, engine.catalog.picture, hit.id, hit.photo) for hit in found.hits
    ]
    boxes = [read_box(hit.box) for hit in found.hits]
    return draw_sheet(
        [Crop(picture.jpeg, box) for picture, box in zip(pictures, boxes, strict=True)]
    )
