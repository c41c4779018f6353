"""Middleware: encoded paths, HEAD, headers of requests and answers, hosts, origins."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.addresses import path_in
from app.http.errors import KINDS, ProblemKind, WrongMediaType, problem
from app.settings import Settings

TWO_LENGTHS = ProblemKind("two-lengths", HTTPStatus.BAD_REQUEST, "The body has two lengths")
LONG_HEADER = ProblemKind(
    "header-too-large", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "A header is too large"
)
# Bytes of one: what proxies and browsers pass on of long cookies and tokens (AWS, Node: 16 KB).
LONGEST_HEADER = 16_384

NAMED = ("/items/", "/collections/", "/aliases/")  # what follows is an id or a name


class RawPathMiddleware:
    """Leaves ids and names in paths encoded: they may hold slashes (%2F)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route such addresses before they are decoded; routes.dependencies.decoded does it."""
        starts = tuple(f"{scope.get('root_path', '')}{start}" for start in NAMED)
        if scope["type"] == "http" and scope["path"].startswith(starts):
            scope["path"] = scope["raw_path"].decode("latin-1").partition("?")[0]
        await self.app(scope, receive, send)


class HeadMiddleware:
    """Answers HEAD on every GET route: the same headers, without a body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on as a GET; outer middleware still sees HEAD."""
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


class RequestHeadersMiddleware:
    """Refuses overlong headers, compressed bodies, and bodies with two lengths.

    A proxy in front may believe the other length, and pass a request on that it took for a body
    (RFC 9112, 6.1), so the connection is closed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request with short headers, and Content-Length or Transfer-Encoding alone."""
        headers = scope["headers"] if scope["type"] == "http" else ()
        name, value = max(headers, key=lambda header: len(header[1]), default=(b"", b""))
        if len(value) > LONGEST_HEADER:
            detail = (
                f"the header {name.decode('latin-1'):.100} has {len(value):,} bytes; "
                f"{LONGEST_HEADER:,} at most are read"
            )
            await problem(LONG_HEADER, detail, scope["path"])(scope, receive, send)
        elif {b"content-length", b"transfer-encoding"} <= {header[0] for header in headers}:
            detail = "send Content-Length or Transfer-Encoding, not both"
            refusal = problem(TWO_LENGTHS, detail, scope["path"], Connection="close")
            await refusal(scope, receive, send)
        elif encoding := _read_encoding(headers):
            detail = f"the body is encoded by {encoding!r:.100}; send it as it is"
            kind = KINDS[WrongMediaType]
            refusal = problem(kind, detail, scope["path"], **{"Accept-Encoding": "identity"})
            await refusal(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _read_encoding(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """Return the compression of a body; empty for none."""
    named = [value.decode("latin-1") for name, value in headers if name == b"content-encoding"]
    encoding = ", ".join(named).strip()
    return "" if encoding.lower() == "identity" else encoding


UNKNOWN_HOST = ProblemKind(
    "unknown-host", HTTPStatus.BAD_REQUEST, "The host is not one of this service"
)
CROSS_SITE = ProblemKind("cross-site", HTTPStatus.FORBIDDEN, "The request comes from another site")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[\w.-]+))(?::\d{1,5})?", re.IGNORECASE)


class AllowedHostsMiddleware:
    """Refuses requests for unknown host names, against DNS rebinding.

    A web page may let its name lead to this machine (DNS rebinding), and would then count as of
    the same origin. The request still names the page's host. An address in numbers leads to
    itself alone, so each is allowed. `*.a.b` allows all names below a.b, and `*` all there are.
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self.app = app
        self._allowed = [pattern.lower() for pattern in allowed]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request for an allowed host."""
        if scope["type"] != "http" or self._allows(host := Headers(scope=scope).get("host", "")):
            await self.app(scope, receive, send)
        else:
            detail = f"this service is not {host!r:.100}; TESSERA_ALLOWED_HOSTS adds names"
            await problem(UNKNOWN_HOST, detail, scope["path"])(scope, receive, send)

    def _allows(self, host: str) -> bool:
        match = HOST.fullmatch(host)
        if match is None:
            return False
        name = (match["v6"] or match["name"]).lower()
        with suppress(ValueError):
            ip_address(name)
            return True
        return any(_matches(name, pattern) for pattern in self._allowed)


class SameOriginMiddleware:
    """Refuses changes and computations for pages of other sites.

    The rules are those of CrossOriginProtection in Go's net/http: browsers say where a request
    comes from in Sec-Fetch-Site, or in Origin; what is no browser says neither, and is let through.
    """

    def __init__(self, app: ASGIApp, trusted: Sequence[str]) -> None:
        self.app = app
        self._trusted = frozenset(trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a safe request, or one from this site."""
        if scope["type"] != "http" or scope["method"] in SAFE or self._allows(Headers(scope=scope)):
            await self.app(scope, receive, send)
        else:
            detail = "pages of other sites may not do this, unless TESSERA_CORS_ORIGINS names them"
            await problem(CROSS_SITE, detail, scope["path"])(scope, receive, send)

    def _allows(self, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin in self._trusted or "*" in self._trusted:
            return True
        if site is not None:
            return site in ("same-origin", "none")
        return origin is None or origin.partition("://")[2] == headers.get("host")


def list_allowed_hosts(settings: Settings) -> list[str]:
    """List the host names of a service, besides numeric addresses."""
    everywhere = settings.host in ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound to
    bound = socket.gethostname() if everywhere else settings.host
    return ["localhost", bound, *settings.allowed_hosts]


def _matches(name: str, pattern: str) -> bool:
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))


CONTENT = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
# Swagger UI brings its icons as data: addresses and sets styles on elements.
CONTENT_OF_DOCS = f"{CONTENT}; img-src 'self' data:; style-src 'self' 'unsafe-inline'"
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT,
    "X-Frame-Options": "DENY",  # for browsers that do not know frame-ancestors
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-site",  # photos are not shown in foreign pages
}


def list_security_headers(settings: Settings) -> dict[str, str]:
    """List the headers of every answer; with allowed origins, other sites may show photos."""
    shown = {"Cross-Origin-Resource-Policy": "cross-origin"} if settings.cors_origins else {}
    return SECURITY_HEADERS | shown


class SecurityHeadersMiddleware:
    """Forbids browsers to load from elsewhere or to guess content types."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app, self._headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its answer."""

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
                if path_in(scope) == "/docs":
                    MutableHeaders(scope=message)["Content-Security-Policy"] = CONTENT_OF_DOCS
            await send(message)

        await self.app(scope, receive, add)
