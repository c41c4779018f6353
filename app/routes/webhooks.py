"""Webhooks of collections: /collections/{name}/webhooks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.access.door import EngineDep, require_role
from app.answers import webhooks as answers
from app.http.openapi import OF_BODY, OF_COLLECTION, OF_WRITE, BodyRoute, problems
from app.routes.collections import NameDep
from app.routes.dependencies import CallerDep, LanesDep, SettingsDep, decode_part
from app.routes.uploads import JsonBody
from app.schemas.webhooks import NewWebhookOut, WebhookIn, WebhooksOut

router = APIRouter(
    route_class=BodyRoute,
    tags=["collections"],
    responses=problems(*OF_COLLECTION),
    dependencies=[require_role("write")],
)
OF_CHANGE = problems(*OF_COLLECTION, *OF_WRITE)


@router.get("/collections/{name}/webhooks")
def webhooks(name: NameDep, engine: EngineDep) -> WebhooksOut:
    """The webhooks of a collection with their last deliveries."""
    return answers.webhooks(engine, name)


@router.post(
    "/collections/{name}/webhooks",
    status_code=201,
    responses=OF_CHANGE | problems(*OF_COLLECTION, *OF_BODY),
)
async def add_webhook(
    name: NameDep,
    sent: JsonBody[WebhookIn],
    engine: EngineDep,
    lanes: LanesDep,
    settings: SettingsDep,
    caller: CallerDep,
) -> NewWebhookOut:
    """Add an address for finished imports; the answer alone has its secret."""
    with lanes.writes.place(caller):
        return await lanes.writes.run(answers.add, engine, name, sent, settings.webhooks)


@router.delete("/collections/{name}/webhooks/{id}", status_code=204, responses=OF_CHANGE)
async def remove_webhook(
    name: NameDep,
    id: Annotated[str, Path(description="The webhook's id.")],  # noqa: A002 - the API's own name
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> None:
    """Remove a webhook and its waiting deliveries."""
    webhook = decode_part(id)
    with lanes.writes.place(caller):
        await lanes.writes.run(answers.remove, engine, name, webhook)
