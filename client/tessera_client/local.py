"""The service in this process, with the same checks as over HTTP."""

from __future__ import annotations

from contextlib import ExitStack
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import start_blocking_portal
from anyio.to_thread import run_sync


def make_application(path: Path, settings: dict[str, Any]) -> Any:
    """Return the web application over a data folder, and its loaded engine.

    ModuleNotFoundError without the package tessera-search.
    """
    app = f"{_find_service()}app"
    chosen = import_module(f"{app}.settings").Settings(data=path, **settings)
    engine = import_module(f"{app}.engine.engine").Engine.load(chosen)
    engine.serve()
    door = import_module(f"{app}.access.door").Door.without_keys(chosen)
    return import_module(f"{app}.main").create_app(chosen, engine, door), engine


def _find_service() -> str:
    """Find the prefix of the service's modules, empty in a checkout."""
    for module, prefix in (("tessera_search", "tessera_search."), ("tessera", "")):
        if find_spec(module) is not None:
            return prefix
    raise ModuleNotFoundError(
        "Client(path=…) runs the service in this process, and it is not installed: "
        "pip install . in Tessera's repository, or give the address of a service"
    )


class LocalTransport(httpx2.BaseTransport):
    """Answers requests in this process.

    An event loop runs in a thread of its own.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        app, engine = make_application(path, settings)
        with ExitStack() as opened:
            opened.callback(engine.close)
            self._portal = opened.enter_context(start_blocking_portal())
            lifespan = app.router.lifespan_context(app)
            opened.enter_context(self._portal.wrap_async_context_manager(lifespan))
            self._transport = httpx2.ASGITransport(app, client=("127.0.0.1", 0))
            self._opened = opened.pop_all()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, its body as bytes."""
        return self._portal.call(self._answer, request)

    def close(self) -> None:
        """Let go of the engine."""
        self._opened.close()

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        sent = httpx2.Request(
            request.method, request.url, headers=request.headers, content=request.read()
        )
        response = await self._transport.handle_async_request(sent)
        content = await response.aread()
        headers = [pair for pair in response.headers.raw if pair[0].lower() != b"transfer-encoding"]
        return httpx2.Response(response.status_code, headers=headers, content=content)


class AsyncLocalTransport(httpx2.AsyncBaseTransport):
    """Answers requests in this process, for the caller's event loop."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self._local = LocalTransport(path, settings)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        await request.aread()
        return await run_sync(self._local.handle_request, request)

    async def aclose(self) -> None:
        """Let go of the engine."""
        self._local.close()
