"""Hosts and origins: the names this service answers to, and the pages that may write to it."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from http import HTTPStatus
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.http.errors import Kind, problem
from app.settings import Settings

UNKNOWN_HOST = Kind("unknown-host", HTTPStatus.BAD_REQUEST, "The host is not one of this service")
CROSS_SITE = Kind("cross-site", HTTPStatus.FORBIDDEN, "The request comes from another site")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[\w.-]+))(?::\d{1,5})?", re.IGNORECASE)


class AllowedHosts:
    """Refuses requests for other host names, so that no page can reach this service by its own.

    A web page may let its name lead to this machine (DNS rebinding), and would then count as of
    the same origin. The request still names the page's host. An address in numbers leads to
    itself alone, so each is allowed. `*.a.b` allows all names below a.b, and `*` all there are.
    """

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self.app = app
        self._allowed = [pattern.lower() for pattern in allowed]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on whose host is allowed."""
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
        return _is_address(name) or any(_fits(name, pattern) for pattern in self._allowed)


class SameOrigin:
    """Refuses requests of other sites' pages that would change or compute something.

    The rules are those of CrossOriginProtection in Go's net/http: browsers say where a request
    comes from in Sec-Fetch-Site, or in Origin; what is no browser says neither, and is let through.
    """

    def __init__(self, app: ASGIApp, trusted: Sequence[str]) -> None:
        self.app = app
        self._trusted = frozenset(trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on that is safe, or of this very site."""
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


def allowed_hosts(settings: Settings) -> list[str]:
    """The names that a service answers to besides addresses in numbers."""
    everywhere = settings.host in ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound to
    bound = socket.gethostname() if everywhere else settings.host
    return ["localhost", bound, *settings.allowed_hosts]


def _fits(name: str, pattern: str) -> bool:
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
