"""Search of photos and of sentences: /search/image and /search/text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.access.door import require_role
from app.answers.search import search_images, search_sentences
from app.http.openapi import OF_COLLECTION, OF_UPLOAD, body_of, problems
from app.routes.bodies import Upload, answer, reads
from app.routes.dependencies import EngineDep
from app.schemas.search import ImageHits, ImageSearch, SentenceHits, TextSearch
from index.catalog.pictures import PictureLost

router = APIRouter(tags=["search"], responses=problems(*OF_COLLECTION, *OF_UPLOAD, PictureLost))


@router.post(
    "/search/image",
    dependencies=[require_role("read")],
    response_model=ImageHits,
    openapi_extra=body_of(ImageSearch),
)
async def search_image(
    upload: Annotated[Upload[ImageSearch], Depends(reads(ImageSearch, "searches"))],
    engine: EngineDep,
) -> Response:
    """Rank the indexed photos against a text, weighted phrases, or a photo, best first."""
    return await answer(upload, lambda: search_images(engine, upload.fields, upload.photo()))


@router.post(
    "/search/text",
    dependencies=[require_role("read")],
    response_model=SentenceHits,
    openapi_extra=body_of(TextSearch),
)
async def search_text(
    upload: Annotated[Upload[TextSearch], Depends(reads(TextSearch, "searches"))],
    engine: EngineDep,
) -> Response:
    """Rank the indexed sentences against a photo, a text, or weighted phrases, best first."""
    return await answer(upload, lambda: search_sentences(engine, upload.fields, upload.photo()))
