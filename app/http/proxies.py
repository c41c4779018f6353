"""Proxies: the addresses of clients behind trusted ones."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware


class ProxyMiddleware:
    """Believes trusted proxies as uvicorn does, and notes the peer.

    uvicorn forgets which host has connected; the headers of users count from a proxy alone.
    """

    def __init__(self, app: ASGIApp, trusted: str) -> None:
        self._app = app
        passing: Any = self._pass  # uvicorn has types of ASGI of its own
        self._believing = ProxyHeadersMiddleware(passing, trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its client's address."""
        if scope["type"] == "http":
            peer = scope["client"][0] if scope.get("client") else ""
            state = scope.setdefault("state", {})
            state["peer"], state["proxied"] = peer, peer in self._believing.trusted_hosts
        believing: Any = self._believing
        await believing(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; its client is the proxy if no address is named."""
        if scope["type"] == "http" and scope.get("client"):
            host, port = scope["client"]
            scope["client"] = (host if _is_address(host) else scope["state"]["peer"], port)
        await self._app(scope, receive, send)


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(host))
    return False
