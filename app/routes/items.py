"""Stored items, one or a page of them: PUT, GET and DELETE /items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import TypeAdapter

from app.answers.cursors import Cursors, kind_of_items
from app.answers.items import item_out
from app.drafts import Draft
from app.openapi import OF_COLLECTION, OF_UPLOAD, OF_WRITE, Responses, body_of, problems
from app.routes.dependencies import DEFAULT, CollectionDep, EngineDep, ItemIdDep, LanesDep
from app.schemas.fields import Cursor, Filter, Limit
from app.schemas.items import ItemBody, ItemOut, ItemsOut, StoredItem
from app.uploads import Upload, reads
from index.items import Entry, Item, ModelMismatch
from index.pictures import PictureLost

router = APIRouter(tags=["items"], responses=problems(*OF_COLLECTION))

FILTER = TypeAdapter(Filter)
CREATED: Responses = {201: {"model": StoredItem, "description": "New."}}
JPEG: Responses = {
    200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}},
    304: {"description": "The photo is the one that If-None-Match names."},
}


@router.put(
    "/items/{id}",
    responses=CREATED | problems(*OF_UPLOAD, *OF_WRITE),
    openapi_extra=body_of(ItemBody),
)
async def put_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    upload: Annotated[Upload[ItemBody], Depends(reads(ItemBody))],
    response: Response,
    engine: EngineDep,
    lanes: LanesDep,
) -> StoredItem:
    """Store an item in place of what its id had before; a search from now on finds it."""
    sent = upload.fields
    draft = Draft(id, sent.metadata, sentences=tuple(sent.sentences))

    def embedded() -> tuple[Draft, list[Entry]]:
        ready = (
            draft if upload.image is None else draft.with_photo(upload.image.read(), upload.decode)
        )
        return ready, engine.embed([ready])

    def store(entries: Sequence[Entry]) -> tuple[bool, Item]:
        home = engine.open(sent.collection, create=True)
        known = engine.catalog.get_many(home, [id])
        engine.catalog.put_many(home, entries)
        return bool(known), engine.catalog.get(home, id)

    draft, entries = await upload.lane.run(embedded)
    known, stored = await lanes.writes.run(store, entries)  # waits for no turn to compute
    response.status_code = 200 if known else 201
    return StoredItem(**item_out(sent.collection, stored).model_dump(), notes=list(draft.notes))


@router.get("/items/{id}")
def get_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    engine: EngineDep,
    collection: CollectionDep = DEFAULT,
) -> ItemOut:
    """What is stored under an id."""
    return item_out(collection, engine.catalog.get(engine.open(collection), id))


@router.delete("/items/{id}", status_code=204)
async def delete_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    engine: EngineDep,
    lanes: LanesDep,
    collection: CollectionDep = DEFAULT,
) -> None:
    """Delete an item; no search from now on finds it."""
    with lanes.writes.place():
        await lanes.writes.run(lambda: engine.catalog.delete(engine.open(collection), id))


@router.get(
    "/items/{id}/image",
    response_class=Response,
    responses=JPEG | problems(ModelMismatch, PictureLost),
)
def get_image(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    request: Request,
    engine: EngineDep,
    collection: CollectionDep = DEFAULT,
) -> Response:
    """The display copy of an item's photo, a JPEG."""
    home = engine.open(collection)
    tag = f'"{engine.catalog.get(home, id).digest}"'
    # Revalidated each time: an item may be replaced, and asking costs a row.
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    picture = engine.catalog.picture(home, id)
    return Response(picture.jpeg, headers=headers, media_type="image/jpeg")


@router.get("/items")
def list_items(
    engine: EngineDep,
    collection: CollectionDep = DEFAULT,
    limit: Limit = 20,
    cursor: Cursor = None,
    filter: Annotated[  # noqa: A002 - the API's own name
        str | None, Query(description='A JSON object: {"colour": ["red", "blue"]}')
    ] = None,
) -> ItemsOut:
    """A page of the items there are, in the order of their ids."""
    where = FILTER.validate_json(filter) if filter else None
    cursors, kind = Cursors(engine.catalog.secret), kind_of_items(collection, where)
    after = cursors.read(cursor, kind) if cursor else ""
    home = engine.open(collection)
    found = engine.catalog.list_items(home, after=after, limit=limit + 1, where=where)
    page = found[:limit]
    return ItemsOut(
        collection=collection,
        items=[item_out(collection, item) for item in page],
        cursor=cursors.write(kind, page[-1].id) if len(found) > limit else None,
    )
