"""Product search and completions: /search/products and /suggest."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator

from app.access.door import EngineDep, require_role
from app.answers import products
from app.http.openapi import OF_COLLECTION, OF_UPLOAD, BodyRoute, problems
from app.routes.dependencies import DEFAULT, CollectionDep
from app.routes.uploads import UploadBody, answer
from app.schemas.emoji import name_emoji
from app.schemas.fields import Limit
from app.schemas.products import ProductSearch, ProductsOut, SuggestionsOut
from index.catalog.pictures import PictureLost

router = APIRouter(route_class=BodyRoute, tags=["search"], responses=problems(*OF_COLLECTION))

LONGEST_TEXT = 1_000  # characters to complete
Typed = Annotated[
    str,
    Query(max_length=LONGEST_TEXT, description="What is typed so far."),
    AfterValidator(name_emoji),
]


@router.post(
    "/search/products",
    dependencies=[require_role("read")],
    response_model=ProductsOut,
    responses=problems(*OF_UPLOAD, PictureLost),
)
async def search_products(
    upload: UploadBody[ProductSearch],
    engine: EngineDep,
) -> Response:
    """Rank items by their words and photos, with facets over all relevant ones, or browse them."""
    return await answer(
        upload, lambda: products.search_products(engine, upload.fields, upload.photo())
    )


@router.get("/suggest", dependencies=[require_role("read")])
def suggest(
    engine: EngineDep, text: Typed, collection: CollectionDep = DEFAULT, limit: Limit = 10
) -> SuggestionsOut:
    """Complete a text by words and values of metadata, those that find most items first.

    They come from titles, brands, kinds and the like, not from descriptions and other prose.
    """
    return products.suggestions(engine, collection, text, limit)
