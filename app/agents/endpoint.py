"""The route /mcp: tools for agents, with keys and limits as elsewhere."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from app.access.door import EngineDep, require_role
from app.agents.capabilities import Agent
from app.engine.engine import Engine
from app.http.errors import WrongMediaType
from app.http.openapi import JSON
from app.roles import Role
from app.routes.dependencies import CallerDep
from app.routes.uploads import limit_size, media_type
from app.schemas.fields import SEARCH
from app.validation import parse_json
from models.rooms import PREFIX

router = APIRouter(include_in_schema=False)  # JSON-RPC is described by the protocol


@router.post("/mcp", dependencies=[require_role("read")], openapi_extra={"requestBody": {}})
async def mcp(request: Request, engine: EngineDep, caller: CallerDep) -> Response:
    """Answer a message of the Model Context Protocol."""
    body = await _read_body(request, caller)
    server = await to_thread.run_sync(import_module, f"{PREFIX}app.agents.server")
    request.scope[server.AGENT] = _make_agent(request, engine, caller)
    answer: Response = server.Exchange(server.http_server(), body)
    return answer


async def _read_body(request: Request, caller: str) -> bytes:
    """Read a message; ValueError for broken JSON or a duplicate key."""
    if media_type(request) != JSON:
        raise WrongMediaType(f"send {JSON}")
    state = request.app.state
    most = min(SEARCH, state.settings.text_bytes)
    with state.lanes.bodies.take(caller):
        body = b"".join([chunk async for chunk in limit_size(request, most)])
    await to_thread.run_sync(parse_json, "the message", body)
    return body


def _make_agent(request: Request, engine: Engine, caller: str) -> Agent:
    state: Any = request.app.state
    may_write = request.state.caller.role.includes(Role.WRITE)
    return Agent(
        engine=engine,
        lanes=state.lanes,
        decode=state.decoders,
        fetch=state.fetch,
        settings=state.settings,
        caller=caller,
        writes=may_write and state.settings.agents_write,
    )
