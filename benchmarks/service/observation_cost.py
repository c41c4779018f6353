"""Cost of observation in microseconds.

Of a request's line, count and span, and of a stage.
"""

from __future__ import annotations

import asyncio
import logging.config
import statistics
import time
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from app.http.observation import observe
from app.telemetry import logs
from app.telemetry.audit import AuditLog
from app.telemetry.requests import stage

ROUNDS, TIMES = 9, 2_000
SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "GET",
    "path": "/",
    "query_string": b"",
    "headers": [(b"x-request-id", b"proxy-17")],
}


async def answer(_: object) -> Response:
    """Nothing."""
    return Response()


def requests(*, observed: bool) -> Callable[[], None]:
    """Answer `TIMES` empty requests, observed or not."""
    app = Starlette(routes=[Route("/", answer)])
    if observed:
        observe(app, queries=False, audit=AuditLog(None))

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(_: Message) -> None:
        pass

    async def ask() -> None:
        for _ in range(TIMES):
            await app(dict(SCOPE), receive, send)

    return lambda: asyncio.run(ask())


def stages() -> None:
    """Pass through `TIMES` empty stages."""
    for _ in range(TIMES):
        with stage("search"):
            pass


def microseconds(work: Callable[[], None]) -> float:
    """The median microseconds of one of `TIMES`."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        took.append(1e6 * (time.perf_counter() - began) / TIMES)
    return statistics.median(took)


def main() -> None:
    """Log to standard error (best sent to /dev/null), and print the costs."""
    logging.config.dictConfig(logs.configuration("json"))
    bare, observed = (microseconds(requests(observed=observing)) for observing in (False, True))
    print(f"a request: {observed - bare:.0f} µs more than {bare:.0f} µs")
    print(f"a stage: {microseconds(stages):.1f} µs")


if __name__ == "__main__":
    main()
