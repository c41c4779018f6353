"""Tools for an agent on this machine, over stdin and stdout."""

from __future__ import annotations

import gc
from contextlib import ExitStack

from mcp.server.stdio import stdio_server

from app.agents.capabilities import Agent
from app.agents.server import make_server
from app.engine.engine import Engine
from app.http.lanes import Lanes
from app.imports.fetching import choose_fetch
from app.imports.photo_decoders import Decoders
from app.settings import Settings


async def serve(engine: Engine, settings: Settings) -> None:
    """Answer messages until stdin ends, without keys."""
    lanes, decoders = Lanes.of(settings), Decoders.of(settings)
    agent = Agent(
        engine=engine,
        lanes=lanes,
        decode=decoders,
        fetch=choose_fetch(settings),
        settings=settings,
        caller="this agent",
        writes=settings.agents_write,
    )
    server = make_server(lambda _: agent)
    gc.freeze()  # what is loaded now stays
    with ExitStack() as opened:
        opened.callback(lanes.close)
        opened.callback(decoders.close)
        async with stdio_server() as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())
