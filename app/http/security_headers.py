"""Security headers: limits for browsers on sources, frames and content types."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",  # for browsers that do not know frame-ancestors
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
# Swagger UI brings its icons as data: addresses and sets styles on elements.
DOCS = (
    f"{HEADERS['Content-Security-Policy']}; img-src 'self' data:; style-src 'self' 'unsafe-inline'"
)


class SecurityHeadersMiddleware:
    """Forbids browsers to load from elsewhere or to guess content types."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its answer."""

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
                if scope["path"] == f"{scope.get('root_path', '')}/docs":
                    MutableHeaders(scope=message)["Content-Security-Policy"] = DOCS
            await send(message)

        await self.app(scope, receive, add)
