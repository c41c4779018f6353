"""Timeouts of clients: slow bodies, unread answers, closed connections.

Also answers a request that the end of the service cuts off, unless its answer has begun.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from anyio import CancelScope
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.addresses import path_in
from app.http.errors import KINDS, LEFT, TooSlow, Unavailable, problem
from app.settings import Settings


@dataclass(slots=True)
class BodyPace:
    """The time for a body: `grace` seconds, one more per `rate` bytes.

    It is at most `most` seconds. Only the time in which the service waits for the client counts. A
    rate of 0 asks for none.
    """

    grace: float
    rate: int
    most: float
    size: int = 0  # bytes so far
    waited: float = 0.0  # seconds so far

    @classmethod
    def of(cls, settings: Settings) -> BodyPace:
        """The pace of a new body, or of a new line."""
        return cls(settings.idle_seconds, settings.body_rate, settings.body_seconds)

    @property
    def left(self) -> float:
        """Seconds until the next byte must come."""
        allowed = self.grace + self.size / self.rate if self.rate else self.most
        return min(self.most, allowed) - self.waited

    def add(self, size: int, waited: float) -> None:
        """Count received bytes and waiting time."""
        self.size, self.waited = self.size + size, self.waited + waited

    def check(self, thing: str) -> None:
        """Raise TooSlow without time left."""
        if self.left > 0:
            return
        if self.waited >= self.most:
            raise TooSlow(f"{thing} took longer than {self.most:g} seconds; send it in less")
        raise TooSlow(
            f"{thing} came too slowly, {self.size:,} bytes in {self.waited:.0f} seconds: after "
            f"{self.grace:g} seconds {self.rate:,} bytes must come a second"
        )


class TimeoutMiddleware:
    """Answers 408 to slow bodies, and stops work for absent clients.

    Its settings say how many seconds there may be between two parts of a body, how long an answer
    may wait to be read, and how fast a body must come. The routes `streams`, of a method and a
    path, look after their bodies themselves.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, streams: frozenset[tuple[str, str]]
    ) -> None:
        self.app, self.settings, self.streams = app, settings, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and give it up with its client."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        stream = (scope["method"], path_in(scope)) in self.streams
        pace = None if stream else BodyPace.of(self.settings)
        exchange = _Exchange(receive, send, self.settings.idle_seconds, pace)
        with exchange.scope:
            try:
                await self.app(scope, exchange.receive, exchange.send)
            except asyncio.CancelledError:
                if exchange.left:
                    raise  # to the scope that was cancelled
                await exchange.cut(scope)
            finally:
                exchange.close()
        if exchange.left and not exchange.started:
            await send({"type": "http.response.start", "status": LEFT, "headers": []})
            await send({"type": "http.response.body"})


class _Exchange:
    """One request and its answer."""

    def __init__(self, receive: Receive, send: Send, idle: float, pace: BodyPace | None) -> None:
        self._receive, self._send, self._idle, self._pace = receive, send, idle, pace
        self._watch: asyncio.Task[None] | None = None
        self.scope = CancelScope()
        self.started = self.answered = self.left = False

    async def receive(self) -> Message:
        """Receive the next part of the body, or the client's disconnect."""
        if self._watch is not None or self._pace is None:
            message = await self._receive()
        else:
            message = await self._receive_in_time(self._pace)
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._watch = self._watch or asyncio.create_task(self._watch_client())
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, unless no one reads it."""
        self.started = True
        try:
            async with asyncio.timeout(self._idle):
                await self._send(message)
        except TimeoutError:
            self._leave()
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.answered = True

    async def cut(self, scope: Scope) -> None:
        """Answer an interrupted request, or note that its answer was cut."""
        if self.answered:
            return
        if self.started:
            scope.setdefault("state", {})["cut"] = True  # for the log and the metrics
        else:
            detail = "the service ends; send the request again once it is back"
            path, headers = scope["path"], {"Retry-After": "1", "Connection": "close"}
            ending = problem(KINDS[Unavailable], detail, path, **headers)
            await ending(scope, self._receive, self._send)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    async def _receive_in_time(self, pace: BodyPace) -> Message:
        begun = monotonic()
        try:
            async with asyncio.timeout(min(self._idle, pace.left)):
                message = await self._receive()
        except TimeoutError as late:
            pace.add(0, monotonic() - begun)
            pace.check("the body")
            detail = (
                f"the body did not come: at most {self._idle:g} seconds between two parts of it, "
                f"and {pace.most:g} in all"
            )
            raise TooSlow(detail) from late
        pace.add(len(message.get("body", b"")), monotonic() - begun)
        return message

    async def _watch_client(self) -> None:
        """Wait for the client's disconnect after its body; ends the request."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self.answered:
            self._leave()

    def _leave(self) -> None:
        self.left = True
        self.scope.cancel()
