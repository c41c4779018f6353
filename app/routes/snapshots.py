"""Snapshots: POST, GET and DELETE /snapshots, while searches and writes go on."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.access.door import EngineDep, require_role
from app.http.addresses import address_of
from app.http.downloads import Download
from app.http.errors import NoSuchBytes, Unavailable
from app.http.openapi import Responses, problems
from app.routes.dependencies import SettingsDep
from app.schemas.snapshots import (
    BegunSnapshot,
    ForeignFile,
    MadeSnapshot,
    SnapshotCollection,
    SnapshotOut,
    SnapshotsOut,
)
from index.backup.snapshot_folder import Snapshots, StoredSnapshot, StrayFile
from index.backup.snapshots import InProgress
from index.database.errors import Busy
from index.items import NoSpace

router = APIRouter(tags=["snapshots"])

TAR = "application/x-tar"
FILE = {"content": {TAR: {"schema": {"type": "string", "format": "binary"}}}}
BEGUN: Responses = {
    202: {"model": BegunSnapshot, "description": "It is being made; GET /snapshots lists it then."}
}
DOWNLOAD: Responses = {
    200: FILE | {"description": "All of it."},
    206: FILE | {"description": "The bytes that `Range` asks for."},
}


async def snapshots(settings: SettingsDep) -> Snapshots:
    """The folder of snapshots."""
    return Snapshots(settings.snapshot_folder)


SnapshotsDep = Annotated[Snapshots, Depends(snapshots)]


@router.post(
    "/snapshots",
    dependencies=[require_role("admin", unbound=True)],
    status_code=201,
    responses=BEGUN | problems(ValueError, Busy, InProgress, NoSpace, Unavailable),
)
def make_snapshot(
    engine: EngineDep,
    snapshots: SnapshotsDep,
    response: Response,
    wait: Annotated[
        bool, Query(description="Answer once it is on disk; otherwise at once, with 202.")
    ] = True,
) -> MadeSnapshot | BegunSnapshot:
    """Make a snapshot of everything that is stored; 201 means it is on disk.

    Should the connection break, it is made all the same, and is listed once it is there.
    """
    if not wait:
        begun = _describe_begun(snapshots.begin(engine.catalog))
        response.status_code, response.headers["Location"] = 202, begun.url
        return begun
    snapshot = snapshots.make(engine.catalog, lambda *_: None)
    stored = _describe(snapshot)
    response.headers["Location"] = stored.url
    return MadeSnapshot(**stored.model_dump(), lost=len(snapshot.lost))


@router.get(
    "/snapshots",
    dependencies=[require_role("admin", unbound=True)],
    responses=problems(Unavailable),
)
def list_snapshots(snapshots: SnapshotsDep) -> SnapshotsOut:
    """The snapshots, the newest first, and the unfinished one."""
    try:
        making = snapshots.making()
        stored, foreign = snapshots.list_files()
    except OSError as failed:
        raise Unavailable(f"the folder of snapshots cannot be read: {failed.strerror}") from failed
    return SnapshotsOut(
        snapshots=list(map(_describe, stored)),
        making=None if making is None else _describe_begun(making),
        foreign=list(map(_describe_foreign, foreign)),
    )


@router.get(
    "/snapshots/{name}",
    dependencies=[require_role("admin", unbound=True)],
    response_class=Response,
    responses=DOWNLOAD | problems(LookupError, ValueError, NoSuchBytes),
)
def download_snapshot(name: str, snapshots: SnapshotsDep) -> Download:
    """Download a snapshot; with `Range`, from where a download broke off."""
    path = snapshots.path(name)
    return Download(path, media_type=TAR, filename=name, stat_result=path.stat())


@router.delete(
    "/snapshots/{name}",
    dependencies=[require_role("admin", unbound=True)],
    status_code=204,
    responses=problems(LookupError, ValueError),
)
def delete_snapshot(name: str, snapshots: SnapshotsDep) -> None:
    """Delete a snapshot."""
    snapshots.delete(name)


def _describe_foreign(file: StrayFile) -> ForeignFile:
    return ForeignFile(name=file.name, bytes=file.size, problem=file.problem)


def _describe_begun(name: str) -> BegunSnapshot:
    return BegunSnapshot(name=name, url=address_of(f"/snapshots/{name}"))


def _describe(stored: StoredSnapshot) -> SnapshotOut:
    return SnapshotOut(
        name=stored.name,
        url=address_of(f"/snapshots/{stored.name}"),
        bytes=stored.size,
        made=datetime.fromisoformat(stored.head.made),
        pictures=stored.head.pictures,
        collections=[
            SnapshotCollection(
                name=held.name, items=held.items, revision=held.revision, model=held.fingerprint
            )
            for held in stored.head.collections
            if held.name
        ],
    )
