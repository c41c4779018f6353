"""Search of photos and of sentences: /search/image and /search/text."""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.access.door import EngineDep, require_role
from app.answers.photos import search_images
from app.answers.search import search_sentences
from app.http.openapi import OF_COLLECTION, OF_UPLOAD, BodyRoute, problems
from app.routes.uploads import UploadBody, answer
from app.schemas.hits import ImageHits, SentenceHits
from app.schemas.search import ImageSearch, TextSearch
from index.catalog.pictures import PictureLost

router = APIRouter(
    route_class=BodyRoute,
    tags=["search"],
    responses=problems(*OF_COLLECTION, *OF_UPLOAD, PictureLost),
)


@router.post(
    "/search/image",
    dependencies=[require_role("read")],
    response_model=ImageHits,
)
async def search_image(
    upload: UploadBody[ImageSearch],
    engine: EngineDep,
) -> Response:
    """Rank the indexed photos against a text, weighted phrases, or a photo, best first.

    With `sort` they come in another order, and with `facets` they are counted: all photos from
    `min_probability` on, or without a query all that pass the filter.
    """
    return await answer(upload, lambda: search_images(engine, upload.fields, upload.photo()))


@router.post(
    "/search/text",
    dependencies=[require_role("read")],
    response_model=SentenceHits,
)
async def search_text(
    upload: UploadBody[TextSearch],
    engine: EngineDep,
) -> Response:
    """Rank the indexed sentences against a photo, a text, or weighted phrases, best first."""
    return await answer(upload, lambda: search_sentences(engine, upload.fields, upload.photo()))
