"""Edits of stored items: patch one, delete many, restore photos."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from app.access.door import EngineDep, require_role
from app.answers.items import item_out
from app.engine.drafts import TITLES, Draft
from app.engine.titles import embed_new_title
from app.http.headers import ConditionsDep, etag
from app.http.openapi import OF_BODY, OF_COLLECTION, OF_UPLOAD, OF_WRITE, BodyRoute, problems
from app.imports.fetching import NotFetched, get_photos
from app.routes.dependencies import (
    DEFAULT,
    CallerDep,
    CollectionDep,
    DecodersDep,
    FetchDep,
    ItemIdDep,
    LanesDep,
)
from app.routes.uploads import JsonBody
from app.schemas.items import (
    Deletion,
    DeletionOut,
    ItemOut,
    ItemPatch,
    Restoration,
    RestorationOut,
)
from app.telemetry.requests import stage
from index.catalog import edits as editing
from index.catalog.edits import Change, ItemSelection
from index.catalog.write_rows import NewPhoto, NewSentence
from index.database import deleted_photos
from index.items import Collection, ConditionFailed, Item

router = APIRouter(
    route_class=BodyRoute, tags=["items"], responses=problems(*OF_COLLECTION, *OF_BODY, *OF_WRITE)
)


@router.patch(
    "/items/{id}",
    dependencies=[require_role("write")],
    responses=problems(ConditionFailed, NotFetched, *OF_UPLOAD),
)
async def patch_item(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    sent: JsonBody[ItemPatch],
    conditions: ConditionsDep,
    response: Response,
    engine: EngineDep,
    lanes: LanesDep,
    decode: DecodersDep,
    fetch: FetchDep,
    caller: CallerDep,
    collection: CollectionDep = DEFAULT,
) -> ItemOut:
    """Merge a patch into an item's metadata, and change its photos.

    Photos that stay are not embedded again. The title of an item that has nothing else is.
    """
    photos: list[int | NewPhoto] | None = None
    sentence: NewSentence | None = None

    def embed_photos(fetched: Sequence[bytes]) -> list[int | NewPhoto]:
        entry = engine.embed([Draft(id).with_photos(fetched, decode)])[0]
        new = zip(entry.pictures, entry.images, strict=True)
        return [image if isinstance(image, int) else next(new) for image in sent.images or ()]

    def patch(home: Collection) -> tuple[Collection, Item]:
        expected = conditions.resolve(home)
        change = Change(sent.metadata, photos, sent.changed_stamp, sentence)
        with stage("store"):
            return home, editing.patch(engine.catalog, home, id, change, expected)

    new = [image for image in sent.images or () if isinstance(image, str)]
    if new:
        with lanes.photos.place(caller):
            fetched = await lanes.fetches.run_for(caller, get_photos, None, None, new, fetch)
            photos = await lanes.photos.run_for(caller, embed_photos, fetched)
    elif sent.images is not None:
        photos = [image for image in sent.images if isinstance(image, int)]
    if sent.metadata and not sent.metadata.keys().isdisjoint(TITLES):
        with lanes.searches.place(caller):
            title = engine, collection, id, sent.metadata
            sentence = await lanes.searches.run_for(caller, embed_new_title, *title)
    with lanes.writes.place(caller):
        home, item = await lanes.writes.run(engine.write, collection, patch)
    response.headers["ETag"] = etag(home, item.revision)
    return item_out(collection, item)


@router.post("/items/delete", dependencies=[require_role("write")])
async def delete_items(
    sent: JsonBody[Deletion],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> DeletionOut:
    """Delete items by ids or by a filter, in short transactions; `dry_run` counts.

    Imports leave deleted photos of folders out. Items that are stored or patched during the
    deletion stay. Send the request again if the connection breaks.
    """
    chosen = ItemSelection(sent.ids, sent.filter)

    def count(home: Collection) -> int:
        return editing.count(engine.catalog, home, chosen)

    @stage("store")
    def delete(home: Collection) -> int:
        return editing.delete(engine.catalog, home, chosen, remember=True)

    work = count if sent.dry_run else delete
    with lanes.writes.place(caller):
        matched = await lanes.writes.run(engine.write, sent.collection, work)
    deleted = 0 if sent.dry_run else matched
    return DeletionOut(collection=sent.collection, matched=matched, deleted=deleted)


@router.post("/items/restore", dependencies=[require_role("write")])
async def restore_items(
    sent: JsonBody[Restoration],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> RestorationOut:
    """Let imports store deleted photos of folders again, as their files are now.

    They come with the next import of their folder; a service that follows it imports them at once.
    """
    ids = dict.fromkeys(sent.ids)

    @stage("store")
    def restore(home: Collection) -> set[str]:
        return deleted_photos.restore(engine.catalog.writer, home, ids.keys())

    with lanes.writes.place(caller):
        restored = await lanes.writes.run(engine.write, sent.collection, restore)
    return RestorationOut(
        collection=sent.collection,
        restored=[each for each in ids if each in restored],
        unknown=[each for each in ids if each not in restored],
    )
