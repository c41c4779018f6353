"""Dependencies of routes: lanes, settings, the caller, an item's id."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request

from app.access.door import name_payer
from app.defaults import DEFAULT_COLLECTION
from app.http.lanes import Lanes
from app.imports.fetching import Fetch
from app.imports.photo_decoders import Decoders
from app.settings import Settings
from index.items import check_id


async def lanes(request: Request) -> Lanes:
    """Return the lanes of the service."""
    lanes: Lanes = request.app.state.lanes
    return lanes


async def decoders(request: Request) -> Decoders:
    """Return the pool of decoders."""
    decoders: Decoders = request.app.state.decoders
    return decoders


async def settings(request: Request) -> Settings:
    """Return the settings of the service."""
    settings: Settings = request.app.state.settings
    return settings


async def caller(request: Request) -> str:
    """Name the caller to count the request for."""
    return name_payer(request)


async def fetch(request: Request) -> Fetch:
    """Return the function for fetching photos, or for refusing."""
    fetch: Fetch = request.app.state.fetch
    return fetch


async def item_id(id: Annotated[str, Path(description="Percent-encoded, slashes too.")]) -> str:  # noqa: A002 - the API's own name
    """Decode the id in a path."""
    item = decode_part(id)
    check_id(item)
    return item


def decode_part(part: str) -> str:
    """Decode a part of a path; ValueError if it is no UTF-8."""
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError as odd:
        raise ValueError(f"a path is UTF-8, percent-encoded, got {part!r:.220}") from odd


LanesDep = Annotated[Lanes, Depends(lanes)]
DecodersDep = Annotated[Decoders, Depends(decoders)]
SettingsDep = Annotated[Settings, Depends(settings)]
CallerDep = Annotated[str, Depends(caller)]
FetchDep = Annotated[Fetch, Depends(fetch)]
ItemIdDep = Annotated[str, Depends(item_id)]
CollectionDep = Annotated[str, Query(description="A named set of items.")]
DEFAULT = DEFAULT_COLLECTION
