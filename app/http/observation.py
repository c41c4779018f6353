"""Observation of requests: a log line, a count and a span each."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from time import perf_counter
from uuid import uuid4

from asgi_correlation_id import CorrelationIdMiddleware, correlation_id
from opentelemetry import trace
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.errors import REQUEST_ID
from app.roles import Role
from app.telemetry.audit import AuditLog
from app.telemetry.metrics import REQUEST_SECONDS, REQUESTS
from app.telemetry.requests import collect_facts

SANE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LONGEST_WHAT = 2_000  # characters
OTHER = "other"  # methods and routes that clients make up

log = logging.getLogger("tessera.requests")


def observe(app: Starlette, *, queries: bool, audit: AuditLog) -> None:
    """Observe all requests of an application; `queries` also logs search texts."""
    app.add_middleware(ObservationMiddleware, queries=queries, audit=audit)
    app.add_middleware(
        CorrelationIdMiddleware, header_name=REQUEST_ID, validator=None, transformer=sanitise_id
    )


def sanitise_id(sent: str) -> str:
    """Return a request's id, or a new one if unsafe to log.

    >>> sanitise_id("af3c-17")
    'af3c-17'
    >>> len(sanitise_id("forged\\nline"))
    32
    """
    return sent if SANE.fullmatch(sent) else uuid4().hex


class ObservationMiddleware:
    """Logs, counts and traces each request, and audits changes."""

    def __init__(self, app: ASGIApp, queries: bool, audit: AuditLog) -> None:
        self.app, self.queries, self.audit = app, queries, audit
        self._hidden = () if queries else ("query",)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and note how it went."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status, start = HTTPStatus.INTERNAL_SERVER_ERROR.value, perf_counter()
        span = trace.get_current_span()
        span.set_attribute("tessera.request_id", correlation_id.get() or "")
        if not self.queries:
            span.set_attribute("url.query", "")
        with collect_facts(self._hidden) as facts:

            async def watch(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = int(message["status"])  # an HTTPStatus would be logged by its name
                    for name, fact in facts.items():  # the span ends with the answer
                        span.set_attribute(f"tessera.{name}", fact)
                await send(message)

            try:
                await self.app(scope, receive, watch)
            except asyncio.CancelledError:
                status = HTTPStatus.SERVICE_UNAVAILABLE.value  # the service ends
                raise
            finally:
                if scope.get("state", {}).get("cut"):
                    status = HTTPStatus.SERVICE_UNAVAILABLE.value
                _note(scope, status, perf_counter() - start, facts)
                self._add_to_audit(scope, status, facts)

    def _add_to_audit(self, scope: Scope, status: int, facts: Mapping[str, str]) -> None:
        """Add a line for a request to change something, refused ones too."""
        needed: Role = scope.get("state", {}).get("needed", Role.READ)
        if scope["method"] in SAFE or not needed.includes(Role.WRITE):
            return
        query = scope.get("query_string", b"").decode("latin-1")
        what = f"{scope['method']} {scope['path']}" + (f"?{query}" if query else "")
        host = scope["client"][0] if scope.get("client") else ""
        names = ("signed_in_by", "collection", "tool", "item", "problem")
        more = {name: facts[name] for name in names if name in facts}
        request_id = correlation_id.get() or ""
        about = {"role": needed, "status": status, "address": host, "request_id": request_id}
        self.audit.add(
            facts.get("user", facts.get("key", "anyone")), what[:LONGEST_WHAT], **about, **more
        )


def _note(scope: Scope, status: int, seconds: float, facts: Mapping[str, str]) -> None:
    """Count a request and log it with a bounded set of labels."""
    method = scope["method"] if scope["method"] in METHODS else OTHER
    route = getattr(scope.get("route"), "path", OTHER)
    REQUESTS.labels(method, route, status).inc()
    REQUEST_SECONDS.labels(method, route).observe(seconds)
    request = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
    log.info("request", extra={**request, **facts})
