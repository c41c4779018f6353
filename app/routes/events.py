"""Clicks on hits: POST /events/clicks."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.access.door import EngineDep, require_role
from app.http.openapi import OF_BODY, OF_COLLECTION, OF_WRITE, BodyRoute, problems
from app.routes.dependencies import CallerDep, LanesDep
from app.routes.uploads import JsonBody
from app.schemas.events import ClickIn
from app.telemetry.events import EventLog

router = APIRouter(
    route_class=BodyRoute,
    tags=["search"],
    responses=problems(*OF_COLLECTION, *OF_BODY, *OF_WRITE),
)


@router.post("/events/clicks", dependencies=[require_role("read")], status_code=204)
async def add_click(
    sent: JsonBody[ClickIn],
    request: Request,
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> None:
    """Note a click on an item for a text, if switched on.

    `tessera judge` and `tessera train products --clicks` read the file.
    """
    events: EventLog = request.app.state.events

    def write() -> None:
        engine.read(sent.collection, engine.catalog.get, sent.id)  # there is such an item
        events.add_click(sent.collection, sent.query, sent.id, sent.kind, sent.weight)

    with lanes.writes.place(caller):
        await lanes.writes.run(write)
