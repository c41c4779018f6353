"""Metrics for Prometheus: counts, times and queues."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.lanes import Lanes


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

    def __init__(self, app: ASGIApp, registry: CollectorRegistry, lanes: Lanes) -> None:
        self.app = app
        labels = ("method", "route", "status")
        self.requests = Counter("tessera_requests", "Requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "tessera_request_seconds", "Seconds to answer.", ("route",), registry=registry
        )
        self.lanes = LaneGauges(lanes, registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and note how it went."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, start = 500, perf_counter()
        self.lanes.note()

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
            self.lanes.note()
            self.requests.labels(method, route, status).inc()
            self.seconds.labels(route).observe(perf_counter() - start)


class LaneGauges:
    """How full the lanes are; noted with each request, as what workers share are plain numbers."""

    def __init__(self, lanes: Lanes, registry: CollectorRegistry) -> None:
        self.lanes = lanes
        self.places = Gauge(
            "tessera_lane_places",
            "Requests in a lane: those that have a place, those that compute, and the most.",
            ("lane", "of"),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.refused = Gauge(
            "tessera_lane_refused",
            "Requests that a full lane has refused.",
            ("lane",),
            registry=registry,
            multiprocess_mode="livesum",
        )

    def note(self) -> None:
        """Note how full the lanes are now."""
        for name, lane in self.lanes.named().items():
            self.places.labels(name, "taken").set(lane.taken)
            self.places.labels(name, "computing").set(lane.computing)
            self.places.labels(name, "most").set(lane.running + lane.waiting)
            self.refused.labels(name).set(lane.refused)
