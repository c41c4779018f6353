"""Original files of photos that were imported from folders of this machine."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.access.door import EngineDep, require_role
from app.http.downloads import Download
from app.http.errors import NoSuchBytes
from app.http.headers import is_listed
from app.http.openapi import OF_COLLECTION, Responses, problems
from app.imports.folders.originals import OPAQUE, find_original
from app.imports.sources import readable
from app.routes.dependencies import DEFAULT, CollectionDep, ItemIdDep, SettingsDep

router = APIRouter(tags=["items"], responses=problems(*OF_COLLECTION))

BINARY = {"schema": {"type": "string", "format": "binary"}}
FILE = {"content": dict.fromkeys((OPAQUE, "image/jpeg", "video/mp4"), BINARY)}
ORIGINAL: Responses = {
    200: FILE | {"description": "All of it."},
    206: FILE | {"description": "The bytes that `Range` asks for."},
    304: {"description": "The file is the one that If-None-Match names."},
}


@router.get(
    "/items/{id}/original",
    dependencies=[require_role("read")],
    response_class=Response,
    responses=ORIGINAL | problems(NoSuchBytes),
)
def get_original(
    id: ItemIdDep,  # noqa: A002 - the API's own name
    request: Request,
    engine: EngineDep,
    settings: SettingsDep,
    collection: CollectionDep = DEFAULT,
) -> Response:
    """The file that an item was imported from, below the folders of TESSERA_ORIGINALS.

    It has all that is in the file, such as the position where it was taken.
    """
    item = engine.read(collection, engine.catalog.get, id)
    original = find_original(item, settings.originals)
    headers = {"ETag": f'"{original.tag}"', "Cache-Control": "private, no-cache"}
    if is_listed(request.headers.getlist("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Download(
        original.path,
        media_type=original.media_type,
        filename=readable(original.path.name),
        content_disposition_type="inline",
        headers=headers,
        stat_result=original.status,
    )
