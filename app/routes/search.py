"""Search of photos and of sentences: /search/image and /search/text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from app.answers.hits import search_images, search_sentences
from app.answers.queries import read_query
from app.openapi import OF_COLLECTION, OF_UPLOAD, body_of, problems
from app.routes.dependencies import EngineDep, GateDep
from app.schemas.search import ImageHits, ImageSearch, SentenceHits, TextSearch
from app.uploads import Upload, reads
from index.pictures import PictureLost

router = APIRouter(tags=["search"], responses=problems(*OF_COLLECTION, *OF_UPLOAD, PictureLost))


# Plain def: FastAPI runs it in a worker thread, so torch never blocks the event loop.
@router.post("/search/image", openapi_extra=body_of(ImageSearch))
def search_image(
    upload: Annotated[Upload[ImageSearch], Depends(reads(ImageSearch))],
    engine: EngineDep,
    gate: GateDep,
) -> ImageHits:
    """Rank the indexed photos against a text, weighted phrases, or a photo, best first."""
    asked = upload.fields
    with gate:
        query = read_query(engine, asked, upload.photo())
        return search_images(engine, asked, query)


@router.post("/search/text", openapi_extra=body_of(TextSearch))
def search_text(
    upload: Annotated[Upload[TextSearch], Depends(reads(TextSearch))],
    engine: EngineDep,
    gate: GateDep,
) -> SentenceHits:
    """Rank the indexed sentences against a photo, a text, or weighted phrases, best first."""
    asked = upload.fields
    with gate:
        query = read_query(engine, asked, upload.photo())
        return search_sentences(engine, asked, query)
