"""Collections and aliases: create, rename, drop and repoint."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from app.access.door import EngineDep, require_role
from app.answers import collections as answers
from app.http.errors import Unavailable
from app.http.openapi import OF_BODY, OF_COLLECTION, OF_WRITE, BodyRoute, Responses, problems
from app.routes.dependencies import CallerDep, LanesDep, decode_part
from app.routes.uploads import JsonBody
from app.schemas.collections import (
    AliasesOut,
    AliasOut,
    AliasTarget,
    CollectionOut,
    CollectionsOut,
    ImportsOut,
    Renaming,
)
from index.items import NameConflict, check_name

router = APIRouter(route_class=BodyRoute, tags=["collections"])

ADMIN = require_role("admin", unbound=True)
OF_NAMES = problems(*OF_COLLECTION, NameConflict, *OF_WRITE)
OF_BODIES = OF_NAMES | problems(*OF_BODY)
NEW_COLLECTION: Responses = {201: {"model": CollectionOut, "description": "New."}}
NEW_ALIAS: Responses = {201: {"model": AliasOut, "description": "New."}}


async def path_name(name: Annotated[str, Path(description="Percent-encoded, slashes too.")]) -> str:
    """Decode the name in a path."""
    decoded = decode_part(name)
    check_name(decoded, "a collection's name")
    return decoded


NameDep = Annotated[str, Depends(path_name)]


@router.get("/collections", dependencies=[require_role("read")], responses=problems(Unavailable))
def collections(engine: EngineDep) -> CollectionsOut:
    """The named sets of items there are."""
    return answers.collections(engine)


@router.get(
    "/collections/{name}", dependencies=[require_role("read")], responses=problems(*OF_COLLECTION)
)
def collection(name: NameDep, engine: EngineDep) -> CollectionOut:
    """The collection of a name or an alias."""
    return answers.collection(engine, name)


@router.get(
    "/collections/{name}/imports",
    dependencies=[require_role("write")],
    responses=problems(*OF_COLLECTION),
)
def imports(name: NameDep, engine: EngineDep) -> ImportsOut:
    """The last imports of this machine, and the files left out of them."""
    return answers.imports(engine, name)


@router.put(
    "/collections/{name}", dependencies=[require_role("write")], responses=NEW_COLLECTION | OF_NAMES
)
async def make_collection(
    name: NameDep, response: Response, engine: EngineDep, lanes: LanesDep, caller: CallerDep
) -> CollectionOut:
    """Make an empty collection for the loaded model; an existing one stays as it is."""
    with lanes.writes.place(caller):
        new = await lanes.writes.run(answers.make, engine, name)
    response.status_code = 201 if new else 200
    return await lanes.writes.run(answers.collection, engine, name)


@router.patch(
    "/collections/{name}",
    dependencies=[ADMIN],
    responses=OF_BODIES,
)
async def rename_collection(
    name: NameDep,
    sent: JsonBody[Renaming],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> CollectionOut:
    """Rename a collection; `alias` leaves the old name as an alias."""
    with lanes.writes.place(caller):
        rename = engine.catalog.names.rename
        await lanes.writes.run(rename, name, sent.name, alias=sent.alias)
    return await lanes.writes.run(answers.collection, engine, sent.name)


@router.delete("/collections/{name}", dependencies=[ADMIN], status_code=204, responses=OF_NAMES)
async def drop_collection(
    name: NameDep, engine: EngineDep, lanes: LanesDep, caller: CallerDep
) -> None:
    """Drop a collection; its items are deleted in the background.

    Refused while an alias stands for it.
    """
    with lanes.writes.place(caller):
        await lanes.writes.run(engine.catalog.names.drop, name)


@router.get(
    "/aliases", dependencies=[require_role("read", unbound=True)], responses=problems(Unavailable)
)
def aliases(engine: EngineDep) -> AliasesOut:
    """The aliases and their collections."""
    return answers.aliases(engine)


@router.put(
    "/aliases/{name}",
    dependencies=[ADMIN],
    responses=NEW_ALIAS | OF_BODIES,
)
async def point_alias(
    name: NameDep,
    sent: JsonBody[AliasTarget],
    response: Response,
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> AliasOut:
    """Point an alias to a collection, for searches, cursors and puts alike.

    What it stood for before stays until it is dropped.
    """
    with lanes.writes.place(caller):
        new = await lanes.writes.run(engine.catalog.names.point, name, sent.collection)
    response.status_code = 201 if new else 200
    return await lanes.writes.run(answers.alias, engine, name)


@router.delete("/aliases/{name}", dependencies=[ADMIN], status_code=204, responses=OF_NAMES)
async def forget_alias(
    name: NameDep, engine: EngineDep, lanes: LanesDep, caller: CallerDep
) -> None:
    """Delete an alias; the collection stays."""
    with lanes.writes.place(caller):
        await lanes.writes.run(engine.catalog.names.forget, name)
