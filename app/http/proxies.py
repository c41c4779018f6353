"""Proxies: the addresses of clients behind trusted ones."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

LOCAL = "127.0.0.1"  # trusted by default, as by uvicorn


class ProxyMiddleware:
    """Believes trusted proxies as uvicorn does, and notes the peer.

    uvicorn forgets which host has connected; the headers of users count from a proxy alone.
    """

    def __init__(self, app: ASGIApp, trusted: str) -> None:
        self._believing = ProxyHeadersMiddleware(app, trusted or LOCAL)  # type: ignore[arg-type]  # uvicorn has types of ASGI of its own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its client's address."""
        if scope["type"] == "http":
            peer = scope["client"][0] if scope.get("client") else ""
            state = scope.setdefault("state", {})
            state["peer"], state["proxied"] = peer, peer in self._believing.trusted_hosts
        believing: Any = self._believing
        await believing(scope, receive, send)
