"""What is counted and timed, for Prometheus."""

from __future__ import annotations

from functools import partial
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.lanes import Lanes


class Metrics:
    """ASGI middleware that counts and times requests by route, into a registry of its own."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry, lanes: Lanes) -> None:
        self.app = app
        labels = ("method", "route", "status")
        self.requests = Counter("tessera_requests", "Requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "tessera_request_seconds", "Seconds to answer.", ("route",), registry=registry
        )
        _watch(lanes, registry)

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


def _watch(lanes: Lanes, registry: CollectorRegistry) -> None:
    """Say how full the lanes are whenever somebody asks."""
    places = Gauge(
        "tessera_lane_places",
        "Requests in a lane, and its most.",
        ("lane", "of"),
        registry=registry,
    )
    refused = Gauge(
        "tessera_lane_refused", "Requests that a full lane refused.", ("lane",), registry=registry
    )
    for name, lane in lanes.named().items():
        places.labels(name, "taken").set_function(partial(getattr, lane, "taken"))
        places.labels(name, "computing").set_function(partial(getattr, lane, "computing"))
        places.labels(name, "most").set(lane.running + lane.waiting)
        refused.labels(name).set_function(partial(getattr, lane, "refused"))
