"""Near-duplicates: the series of a collection."""

from __future__ import annotations

from fastapi import APIRouter

from app.access.door import EngineDep, require_role
from app.answers import duplicates as answers
from app.http.openapi import OF_COLLECTION, problems
from app.routes.dependencies import DEFAULT, CollectionDep
from app.schemas.duplicates import DuplicatesOut
from app.schemas.fields import Cursor, Limit

router = APIRouter(tags=["items"], responses=problems(*OF_COLLECTION))


@router.get("/duplicates", dependencies=[require_role("read")])
def list_duplicates(
    engine: EngineDep,
    collection: CollectionDep = DEFAULT,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> DuplicatesOut:
    """Series of photos that are nearly the same, those that take most bytes first.

    Delete items by /items/delete: it takes them out of the index, and imports leave them out from
    then on. The photos' files are never touched.
    """
    return answers.list_duplicates(engine, collection, limit, cursor)
