"""Addresses of this service, below the path of a proxy (`TESSERA_ROOT_PATH`)."""

from __future__ import annotations

from contextvars import ContextVar

from starlette.types import ASGIApp, Receive, Scope, Send

_root: ContextVar[str] = ContextVar("root", default="")


def address_of(path: str) -> str:
    """Return a path of the service below the proxy's path."""
    return _root.get() + path


def path_in(scope: Scope) -> str:
    """Return a request's path below the root path."""
    path, root = str(scope["path"]), scope.get("root_path", "")
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


class RootPathMiddleware:
    """Puts the root path before paths, as ASGI demands."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole path."""
        root = scope["root_path"] = scope.get("root_path") or self._root
        if scope["type"] == "http" and not scope["path"].startswith(f"{root}/"):
            scope["path"] = root + scope["path"]
            scope["raw_path"] = root.encode() + scope["raw_path"]
        token = _root.set(root)
        try:
            await self.app(scope, receive, send)
        finally:
            _root.reset(token)
