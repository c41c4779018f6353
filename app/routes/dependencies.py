"""What routes ask for: the engine, a turn to compute, an item's id."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request

from app.decoding.pool import Decoders
from app.engine import Engine
from app.errors import Unavailable
from app.lanes import Lanes
from app.settings import DEFAULT_COLLECTION, Settings


async def engine(request: Request) -> Engine:
    """The engine; Unavailable until its model is loaded."""
    loaded: Engine | None = request.app.state.engine
    if loaded is None:
        failure = request.app.state.failure
        raise Unavailable(
            f"the model cannot be loaded: {failure}"
            if failure
            else "the model is being loaded; try again in a moment"
        )
    return loaded


async def lanes(request: Request) -> Lanes:
    """Where computing requests wait for their turn."""
    found: Lanes = request.app.state.lanes
    return found


async def decoders(request: Request) -> Decoders:
    """What decodes photos."""
    found: Decoders = request.app.state.decoders
    return found


async def settings(request: Request) -> Settings:
    """How this installation runs."""
    found: Settings = request.app.state.settings
    return found


async def item_id(id: Annotated[str, Path(description="Percent-encoded, slashes too.")]) -> str:  # noqa: A002 - the API's own name
    """The id that a path names, decoded: app.main.RawItemPaths left it encoded."""
    return unquote(id, errors="strict")


EngineDep = Annotated[Engine, Depends(engine)]
LanesDep = Annotated[Lanes, Depends(lanes)]
DecodersDep = Annotated[Decoders, Depends(decoders)]
SettingsDep = Annotated[Settings, Depends(settings)]
ItemIdDep = Annotated[str, Depends(item_id)]
CollectionDep = Annotated[str, Query(description="A named set of items.")]
DEFAULT = DEFAULT_COLLECTION
