"""The Model Context Protocol by its SDK, over HTTP or streams."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app import __version__
from app.agents.capabilities import Agent, Capability
from app.agents.findings import Finding
from app.agents.tools import (
    INSTRUCTIONS,
    CallFailed,
    UnknownTool,
    call,
    is_writing,
    list_capabilities,
)
from app.roles import Role

AGENT = "tessera.agent"  # the key of a request's scope


def make_server(find_agent: Callable[[Any], Agent]) -> Server[Any]:
    """Make a server of the tools; `find_agent` reads a request's caller."""

    async def list_tools(context: Any, _: PaginatedRequestParams | None) -> ListToolsResult:
        agent = find_agent(context.request)
        return ListToolsResult(tools=[_describe(each) for each in list_capabilities(agent)])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        if context.request is not None and is_writing(params.name):
            context.request.state.needed = Role.WRITE  # for the audit
        try:
            finding = await call(find_agent(context.request), params.name, params.arguments or {})
        except UnknownTool as unknown:
            raise MCPError(INVALID_PARAMS, str(unknown)) from unknown
        except CallFailed as refusal:
            return CallToolResult(content=[TextContent(text=str(refusal))], is_error=True)
        return CallToolResult(content=_write(finding))

    return Server(
        "tessera",
        version=__version__,
        title="Tessera",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


@cache
def http_server() -> Server[Any]:
    """The server of all requests over HTTP."""
    return make_server(lambda request: request.scope[AGENT])


class Exchange(Response):
    """The answer to a message over HTTP, by a session each.

    Nothing is remembered between messages, so any process may answer any of them.
    """

    def __init__(self, server: Server[Any], body: bytes) -> None:
        super().__init__()
        self._server, self._sent = server, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK read the message and answer it."""
        messages: list[Message] = [{"type": "http.request", "body": self._sent, "more_body": False}]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, again, send)


def _describe(capability: Capability) -> Tool:
    return Tool(
        name=capability.name,
        description=capability.purpose,
        input_schema=_drop_titles(capability.question.model_json_schema()),
        annotations=ToolAnnotations(
            read_only_hint=not capability.writes,
            destructive_hint=capability.destroys,
            open_world_hint=False,
        ),
    )


def _drop_titles(schema: Any) -> Any:
    """Drop pydantic's titles, which repeat the names of fields."""
    if isinstance(schema, list):
        return [_drop_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    titled = isinstance(schema.get("title"), str)
    return {
        name: _drop_titles(part) for name, part in schema.items() if name != "title" or not titled
    }


def _write(finding: Finding) -> list[ContentBlock]:
    pictures = [
        ImageContent(data=base64.b64encode(picture.file).decode(), mime_type=picture.kind)
        for picture in finding.pictures
    ]
    return [TextContent(text=finding.text()), *pictures]
