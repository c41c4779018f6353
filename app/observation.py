"""Observation of requests: a line in the log, a count, and a span for each."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from time import perf_counter
from uuid import uuid4

from asgi_correlation_id import CorrelationIdMiddleware, correlation_id
from opentelemetry.trace import Span, StatusCode
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import logs, tracing
from app.errors import REQUEST_ID
from app.metrics import REQUEST_SECONDS, REQUESTS

SANE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"  # methods and routes that clients make up

log = logging.getLogger("tessera.requests")


def observe(app: Starlette, *, queries: bool) -> None:
    """Observe all that an application answers; `queries` logs what people searched for as well."""
    app.add_middleware(Observation, queries=queries)
    app.add_middleware(
        CorrelationIdMiddleware, header_name=REQUEST_ID, validator=None, transformer=sane_id
    )


def sane_id(sent: str) -> str:
    """A request's id as it was sent, or a new one for what would not be safe in a log.

    >>> sane_id("af3c-17")
    'af3c-17'
    >>> len(sane_id("forged\\nline"))
    32
    """
    return sent if SANE.fullmatch(sent) else uuid4().hex


class Observation:
    """ASGI middleware that notes how each request went."""

    def __init__(self, app: ASGIApp, queries: bool) -> None:
        self.app, self.queries = app, queries

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and note how it went."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, start = 500, perf_counter()
        method = scope["method"] if scope["method"] in METHODS else OTHER

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with logs.noted() as facts, tracing.server_span(method, Headers(scope=scope)) as span:
            try:
                await self.app(scope, receive, watch)
            except asyncio.CancelledError:
                status = 503  # the service ends
                raise
            finally:
                seconds = perf_counter() - start
                exchange = Exchange(method, _route(scope), status, self._shown(facts))
                exchange.count(seconds)
                exchange.write(seconds)
                exchange.describe(span)

    def _shown(self, facts: dict[str, str]) -> dict[str, str]:
        return {name: fact for name, fact in facts.items() if self.queries or name != "query"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and how it was answered, in words of which there are only so many, and facts."""

    method: str
    route: str
    status: int
    facts: Mapping[str, str]

    def count(self, seconds: float) -> None:
        """Add it to the metrics."""
        REQUESTS.labels(self.method, self.route, self.status).inc()
        REQUEST_SECONDS.labels(self.method, self.route).observe(seconds)

    def write(self, seconds: float) -> None:
        """Write a line about it."""
        request = {"method": self.method, "route": self.route, "status": self.status}
        log.info("request", extra={**request, "seconds": round(seconds, 4), **self.facts})

    def describe(self, span: Span) -> None:
        """Say it of a span, in the names of OpenTelemetry's conventions."""
        span.update_name(f"{self.method} {self.route}")
        span.set_attributes(
            {
                "http.request.method": self.method,
                "http.route": self.route,
                "http.response.status_code": self.status,
                "tessera.request_id": correlation_id.get() or "",
                **{f"tessera.{name}": fact for name, fact in self.facts.items()},
            }
        )
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            span.set_status(StatusCode.ERROR)


def _route(scope: Scope) -> str:
    """The template of a request's path."""
    return getattr(scope.get("route"), "path", OTHER)
