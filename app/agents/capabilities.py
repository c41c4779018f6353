"""Tools as values: agents, capabilities, and the lanes of calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.agents.findings import Finding
from app.engine.engine import Engine
from app.http.lanes import Lanes
from app.imports.fetching import Fetch
from app.imports.photo_decoders import Decoders
from app.schemas.fields import RequestPart
from app.settings import Settings
from index.database.moments import moment


@dataclass(frozen=True, slots=True)
class Agent:
    """A caller of tools, with all parts for its calls."""

    engine: Engine  # limited to the collections of the caller's key
    lanes: Lanes
    decode: Decoders
    fetch: Fetch
    settings: Settings
    caller: str
    writes: bool


@dataclass(frozen=True, slots=True)
class Capability:
    """A tool: name, purpose, arguments, and the answer to a call."""

    name: str
    purpose: str
    question: type[RequestPart]
    call: Callable[[Agent, Any], Awaitable[Finding]]
    writes: bool = False
    destroys: bool = False


def reads(
    name: str,
    purpose: str,
    question: type[RequestPart],
    read: Callable[[Engine, Any], Finding],
    lane: Literal["searches", "photos"] = "searches",
) -> Capability:
    """Make a tool for reading, in the lane of its route."""

    def read_at_once(engine: Engine, asked: RequestPart) -> Finding:
        with moment():
            return read(engine, asked)

    async def call(agent: Agent, asked: RequestPart) -> Finding:
        embeds = getattr(asked, "box", None) is not None  # a part of a photo
        chosen = agent.lanes.photos if embeds or lane == "photos" else agent.lanes.searches
        with chosen.place(agent.caller):
            return await chosen.run_for(agent.caller, read_at_once, agent.engine, asked)

    return Capability(name, purpose, question, call)
