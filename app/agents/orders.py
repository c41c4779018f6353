"""Tools for writing: they call the routes' functions."""

from __future__ import annotations

from fastapi import Response

from app.agents.capabilities import Agent, Capability
from app.agents.findings import Finding
from app.agents.questions import DeletionOrder, NewItemOrder, TagOrder
from app.http.headers import Conditions, Tags
from app.routes.edits import patch_item
from app.routes.items import delete_item, put_item
from app.routes.uploads import Upload
from app.schemas.items import ItemBody, ItemPatch
from app.telemetry.events import EventLog
from index.items import check_id

ANY = Tags(None)


async def add_item(agent: Agent, order: NewItemOrder) -> Finding:
    """Store an item."""
    fields = order.model_dump(exclude_unset=True, exclude={"id", "replace"})
    body = ItemBody.model_validate(fields)
    upload = Upload(body, (), agent.decode, agent.lanes.photos, agent.caller, EventLog(folder=None))
    stored = await put_item(
        id=order.id,
        upload=upload,
        conditions=Conditions() if order.replace else Conditions(none_match=ANY),
        response=Response(),
        engine=agent.engine,
        fetch=agent.fetch,
        lanes=agent.lanes,
        settings=agent.settings,
    )
    return Finding({"stored": stored.id, "photos": len(stored.images), "notes": stored.notes})


async def tag_item(agent: Agent, order: TagOrder) -> Finding:
    """Merge metadata into an item's."""
    check_id(order.id)
    item = await patch_item(
        id=order.id,
        sent=ItemPatch.model_validate({"metadata": order.metadata}),
        conditions=Conditions(),
        response=Response(),
        engine=agent.engine,
        lanes=agent.lanes,
        decode=agent.decode,
        fetch=agent.fetch,
        caller=agent.caller,
        collection=order.collection,
    )
    return Finding({"changed": item.id, "metadata": item.metadata})


async def remove_item(agent: Agent, order: DeletionOrder) -> Finding:
    """Delete an item."""
    check_id(order.id)
    await delete_item(
        id=order.id,
        conditions=Conditions(),
        engine=agent.engine,
        lanes=agent.lanes,
        caller=agent.caller,
        collection=order.collection,
    )
    return Finding({"deleted": order.id})


ALL = (
    Capability(
        "add_item",
        "Store an item of sentences, metadata and a photo by its public address.",
        NewItemOrder,
        add_item,
        writes=True,
        destroys=True,
    ),
    Capability(
        "tag_item",
        "Change an item's metadata: keys are merged, null deletes one.",
        TagOrder,
        tag_item,
        writes=True,
        destroys=True,
    ),
    Capability(
        "delete_item",
        "Delete an item for good.",
        DeletionOrder,
        remove_item,
        writes=True,
        destroys=True,
    ),
)
