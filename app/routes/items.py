"""Stored items: PUT, GET and DELETE /items, and pages of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import JsonValue

from app.access.door import EngineDep, require_role
from app.answers.cursors import Cursors, kind_of_items
from app.answers.items import VERSION, item_out, magnitudes_of, write_stored_item
from app.engine.drafts import Draft
from app.engine.thumbnails import Size
from app.http.headers import ConditionsDep, etag, is_listed
from app.http.openapi import OF_COLLECTION, OF_UPLOAD, OF_WRITE, BodyRoute, Responses, problems
from app.imports.fetching import NotFetched, get_photos
from app.imports.folders.originals import has_original
from app.imports.photo_files import FileReading
from app.imports.source_reading import add_photos
from app.routes.dependencies import (
    DEFAULT,
    CallerDep,
    CollectionDep,
    FetchDep,
    ItemIdDep,
    LanesDep,
    SettingsDep,
)
from app.routes.uploads import UploadBody
from app.schemas.fields import Cursor, Limit
from app.schemas.items import (
    ItemBody,
    ItemsOut,
    Listing,
    MagnitudesOut,
    SingleItem,
    StoredItem,
)
from app.telemetry.requests import stage
from app.validation import parse_json, read_fields
from index.catalog.pictures import PictureLost
from index.items import Collection, ConditionFailed, Entry, ModelMismatch, check_new_id

REVALIDATED = "private, no-cache"

router = APIRouter(route_class=BodyRoute, tags=["items"], responses=problems(*OF_COLLECTION))

CREATED: Responses = {201: {"model": StoredItem, "description": "New."}}
UNCHANGED: Responses = {304: {"description": "The item is the one that If-None-Match names."}}
BINARY = {"type": "string", "format": "binary"}
PICTURE: Responses = {
    200: {"content": {form: {"schema": BINARY} for form in ("image/jpeg", "image/webp")}},
    304: {"description": "The photo is the one that If-None-Match names."},
}


@router.put(
    "/items/{id}",
    dependencies=[require_role("write")],
    responses=CREATED | problems(*OF_UPLOAD, *OF_WRITE, ConditionFailed, NotFetched),
)
async def put_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    upload: UploadBody[ItemBody],
    conditions: ConditionsDep,
    response: Response,
    engine: EngineDep,
    fetch: FetchDep,
    lanes: LanesDep,
    settings: SettingsDep,
) -> StoredItem:
    """Store an item and replace the former one; searches find it immediately."""
    check_new_id(id)
    sent, caller = upload.fields, upload.caller
    draft = Draft(id, sent.metadata, sentences=tuple(sent.sentences), stamp=sent.stamp)
    reading = FileReading.of(settings, of_folder=False) if sent.read_metadata else None

    def embed_photos(named: Sequence[bytes]) -> tuple[Draft, Entry]:
        sent_with_it = (image.read() for image in upload.images)
        ready = add_photos(draft, (*sent_with_it, *named), upload.decode, reading)
        return ready, engine.embed([ready])[0]

    def store(home: Collection) -> tuple[Collection, int, int]:
        with stage("store"):
            return home, *engine.catalog.replace(home, entry, conditions.resolve(home))

    if upload.images and sent.image_url is not None:
        raise ValueError("send an image or an image_url, not both; further ones are images")
    # A collection that is dropped while photos are looked at is not made again.
    exists = await lanes.writes.run(engine.knows, sent.collection)
    named = list[bytes]()
    with upload.lane.place(caller):
        if sent.image_url is not None or sent.images:
            photos = sent.image_url, sent.images
            named = await lanes.fetches.run_for(caller, get_photos, None, *photos, fetch)
        draft, entry = await upload.lane.run_for(caller, embed_photos, named)
    # It waits for no turn to compute.
    home, revision, replaced = await lanes.writes.run(
        engine.write, sent.collection, store, create=not exists
    )
    response.status_code = 200 if replaced else 201
    response.headers["ETag"] = etag(home, revision)
    return write_stored_item(sent.collection, entry, draft.notes)


@router.get(
    "/items/{id}",
    dependencies=[require_role("read")],
    response_model=SingleItem,
    responses=UNCHANGED,
)
def get_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    request: Request,
    response: Response,
    engine: EngineDep,
    settings: SettingsDep,
    collection: CollectionDep = DEFAULT,
) -> SingleItem | Response:
    """The item of an id, with its ETag for If-Match and If-None-Match."""
    home, item = engine.read(collection, lambda home: (home, engine.catalog.get(home, id)))
    response.headers["ETag"] = tag = etag(home, item.revision)
    if item.source is None and is_listed(request.headers.getlist("if-none-match"), tag):
        return Response(status_code=304, headers={"ETag": tag})
    return SingleItem(  # the file of a source may have gone, with the item as it was
        **item_out(collection, item).model_dump(),
        original=has_original(item, settings.originals),
    )


@router.get(
    "/items/{id}/magnitudes",
    dependencies=[require_role("read")],
    responses=problems(ModelMismatch, PictureLost),
)
def get_magnitudes(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    engine: EngineDep,
    collection: CollectionDep = DEFAULT,
) -> MagnitudesOut:
    """Which regions and words weigh most: the lengths of their vectors, the longest first."""
    return magnitudes_of(engine.read(collection, engine.catalog.entry, id))


@router.delete(
    "/items/{id}",
    dependencies=[require_role("write")],
    status_code=204,
    responses=problems(ConditionFailed, *OF_WRITE),
)
async def delete_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    conditions: ConditionsDep,
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
    collection: CollectionDep = DEFAULT,
) -> None:
    """Delete an item; no search finds it from now on.

    Imports leave its photo out.
    """

    @stage("store")
    def delete(home: Collection) -> int:
        return engine.catalog.delete(home, id, conditions.resolve(home), remember=True)

    with lanes.writes.place(caller):
        await lanes.writes.run(engine.write, collection, delete)


@router.get(
    "/items/{id}/image",
    dependencies=[require_role("read")],
    response_class=Response,
    responses=PICTURE | problems(ModelMismatch, PictureLost),
)
def get_image(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    request: Request,
    engine: EngineDep,
    photo: Annotated[int, Query(ge=0, description="Which of its photos, from 0.")] = 0,
    size: Annotated[
        Size | None, Query(description="A thumbnail: at most 320 or 640 pixels, as WebP.")
    ] = None,
    v: Annotated[str | None, Query(max_length=64, description="As in `thumbnail`.")] = None,
    collection: CollectionDep = DEFAULT,
) -> Response:
    """The display copy of one of an item's photos, a JPEG; or its thumbnail, a WebP.

    With the `v` of a thumbnail's address it may be kept for good.
    """
    item = engine.read(collection, engine.catalog.get, id)
    digest = item.photo(photo).digest
    tag = f'"{digest}"' if size is None else f'"{digest}-{size}"'
    # Else revalidated each time: an item may be replaced, and asking costs a row.
    caching = "private, max-age=31536000, immutable" if v == digest[:VERSION] else REVALIDATED
    headers = {"ETag": tag, "Cache-Control": caching}
    if is_listed(request.headers.getlist("if-none-match"), tag):
        return Response(status_code=304, headers=headers)

    def read() -> bytes:
        return engine.read(collection, engine.catalog.picture, id, photo).jpeg

    if size is None:
        return Response(read(), headers=headers, media_type="image/jpeg")
    thumbnail = engine.thumbnails.get(digest, size, read)
    return Response(thumbnail, headers=headers, media_type="image/webp")


@router.get("/items", dependencies=[require_role("read")])
def list_items(
    engine: EngineDep,
    collection: CollectionDep = DEFAULT,
    limit: Limit = 20,
    cursor: Cursor = None,
    filter: Annotated[  # noqa: A002 - the API's own name
        str | None, Query(description='A JSON object: {"colour": ["red", "blue"]}')
    ] = None,
) -> ItemsOut:
    """A page of items, ordered by id."""
    where = None if filter is None else _read_filter(filter)
    cursors, kind = Cursors(engine.catalog.secret), kind_of_items(collection, where)
    after = "" if cursor is None else cursors.read(cursor, kind)
    damaged = set[str]()
    items = engine.read(
        collection,
        engine.catalog.list_items,
        after=after,
        limit=limit + 1,
        where=where,
        damaged=damaged,
    )
    ids = sorted([*(item.id for item in items), *damaged])
    page = ids[:limit]
    return ItemsOut(
        collection=collection,
        items=[item_out(collection, item) for item in items if item.id in page],
        cursor=cursors.write(kind, page[-1]) if len(ids) > limit and page[-1] > after else None,
        damaged=sorted(damaged.intersection(page)),
    )


def _read_filter(text: str) -> dict[str, JsonValue] | None:
    """Read the filter of a list; ValueError for an empty text."""
    if not text.strip():
        raise ValueError(
            'filter: it is empty; leave it out, or send JSON such as {"album": "park"}'
        )
    return read_fields(Listing, {"filter": parse_json("filter", text, Listing)}).filter
