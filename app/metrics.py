"""What is counted and timed, for Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send


def shared_registry() -> CollectorRegistry:
    """What all workers have counted, of those too that have ended; see `share`."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


@contextmanager
def share() -> Iterator[None]:
    """Have processes that start from here on count into files, which any of them adds up."""
    with TemporaryDirectory(prefix="tessera-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # the one way to tell prometheus_client
        yield


class Metrics:
    """ASGI middleware that counts and times requests by route, into a registry of its own."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self.app = app
        labels = ("method", "route", "status")
        self.requests = Counter("tessera_requests", "Requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "tessera_request_seconds", "Seconds to answer.", ("route",), registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and note how it went."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, start = 500, perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            # Routes, not addresses, and known methods: what clients make up must not add series.
            route = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if route != "unknown" else "any"
            self.requests.labels(method, route, status).inc()
            self.seconds.labels(route).observe(perf_counter() - start)
