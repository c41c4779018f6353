"""Middleware: encoded item ids in paths, HEAD as GET, and lengths of bodies."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import Kind, problem

TWO_LENGTHS = Kind("two-lengths", HTTPStatus.BAD_REQUEST, "The body has two lengths")
LONG_HEADER = Kind(
    "header-too-large", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "A header is too large"
)
# Bytes of one: what proxies and browsers pass on of long cookies and tokens (AWS, Node: 16 KB).
LONGEST_HEADER = 16_384

NAMED = ("/items/", "/collections/", "/aliases/")  # what follows is an id or a name


class RawPaths:
    """Leaves ids and names in paths as they were sent, so that one may hold a slash, as %2F."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route such addresses before they are decoded; routes.dependencies.decoded does it."""
        starts = tuple(f"{scope.get('root_path', '')}{start}" for start in NAMED)
        if scope["type"] == "http" and scope["path"].startswith(starts):
            scope["path"] = scope["raw_path"].decode("latin-1").partition("?")[0]
        await self.app(scope, receive, send)


class Heads:
    """Answers HEAD on every route of GET: with the headers of its answer, and without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as a GET; the scope of the outer middleware stays that of HEAD."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self.app(scope, receive, send)

        async def drop_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
            elif not message.get("more_body"):
                await send({"type": "http.response.body"})

        as_get = {
            **scope,
            "method": "GET",
            # A range is of GET alone (RFC 9110, 14.2).
            "headers": [header for header in scope["headers"] if header[0] != b"range"],
            # Files are named, not read.
            "extensions": {**scope.get("extensions", {}), "http.response.pathsend": {}},
        }
        try:
            await self.app(as_get, receive, drop_body)
        finally:
            scope["route"] = as_get.get("route")  # for the log and the metrics


class OneLength:
    """Refuses requests whose body has two lengths, and closes their connections.

    A proxy in front may believe the other one, and pass a request on that it took for a body
    (RFC 9112, 6.1).
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on that has a Content-Length or a Transfer-Encoding, not both."""
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        if "content-length" in headers and "transfer-encoding" in headers:
            detail = "send Content-Length or Transfer-Encoding, not both"
            refusal = problem(TWO_LENGTHS, detail, scope["path"], Connection="close")
            await refusal(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class ShortHeaders:
    """Refuses requests with a header that no browser and no client sends so long."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on whose headers have up to LONGEST_HEADER bytes each."""
        headers = scope["headers"] if scope["type"] == "http" else ()
        name, value = max(headers, key=lambda header: len(header[1]), default=(b"", b""))
        if len(value) > LONGEST_HEADER:
            detail = (
                f"the header {name.decode('latin-1'):.100} has {len(value):,} bytes; "
                f"{LONGEST_HEADER:,} at most are read"
            )
            refusal = problem(LONG_HEADER, detail, scope["path"])
            await refusal(scope, receive, send)
        else:
            await self.app(scope, receive, send)
