"""The HTTP server: uvicorn with limits on connections, and its workers."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from socket import socket
from threading import Thread
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

import h11
from starlette.responses import Response
from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from app.http.errors import KINDS, ProblemKind, TooManyRequests, Unavailable, problem
from app.http.lanes import check_share, network
from app.http.middleware import SECURITY_HEADERS
from app.settings import Settings

NO_HTTP = ProblemKind("no-http", HTTPStatus.BAD_REQUEST, "The request is not HTTP/1.1")
SECURITY = [(name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]
MOST_REST = 2**28  # bytes of a body that are read after its answer
HEADERS = 10.0  # seconds, from the connection or the first byte of a request on
# Longer than clients and proxies keep a connection (httpx 5 s, nginx 60): if it is closed just as
# they send a request, they cannot know whether that was done.
KEEP_ALIVE = 75

logger = logging.getLogger("uvicorn.error")


class LingeringTransport:
    """A transport that waits for the rest of a body before it closes.

    A socket that is closed before is reset, and the client, such as a proxy, may lose the answer.
    Once it `lingers`, `wait` is called, and it closes when it is closed again.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        has_rest: Callable[[], bool],
        wait: Callable[[], object],
    ) -> None:
        self._transport, self._has_rest, self._wait = transport, has_rest, wait
        self.lingers = False

    def __getattr__(self, name: str) -> Any:
        """Do the rest as the transport does."""
        return getattr(self._transport, name)

    def close(self) -> None:
        """Close, or say that nothing more is sent and read on."""
        if self.lingers or not self._has_rest():
            self._transport.close()
            return
        self.lingers = True
        self._wait()
        try:
            if self._transport.can_write_eof():  # TLS cannot
                self._transport.write_eof()
            self._transport.resume_reading()
        except OSError:  # the client has just left
            self.close()


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to connections without a whole request.

    uvicorn itself only closes connections that are silent after an answer, after `KEEP_ALIVE`.
    No address gets all connections that `limit_concurrency` allows, which uvicorn takes for a
    limit of requests.
    """

    deadline: asyncio.TimerHandle | None = None
    refused = False  # a refused connection takes no place until it is closed
    lingering: LingeringTransport
    rest = 0  # bytes that came after the last answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request; refuse it beyond the limit of connections."""
        most, self.limit_concurrency = self.limit_concurrency or sys.maxsize, None
        alike = (other for other in self.connections if isinstance(other, type(self)))
        others = [other.address for other in alike if not other.refused]
        self.lingering = LingeringTransport(transport, self._has_rest_of_body, self._wait)
        super().connection_made(self.lingering)  # type: ignore[arg-type]
        held = others.count(self.address)
        try:
            check_share("connections", most, len(others), held, self.address)
        except (TooManyRequests, Unavailable) as full:
            self.refused = True
            self._answer(problem(KINDS[type(full)], str(full), "*", **{"Retry-After": "1"}))
        else:
            self._wait()

    @property
    def address(self) -> str:
        """The network address of the client."""
        return network(self.client[0]) if self.client else "this client"

    def send_400_response(self, msg: str) -> None:
        """Answer malformed HTTP with a problem, unless an answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer(problem(NO_HTTP, f"{msg} Headers may have 64 KB.", "*"))
        self.transport.close()

    def _answer(self, answer: Response) -> None:
        """Answer before any request is read, and close the connection."""
        headers = [*answer.raw_headers, *SECURITY, (b"connection", b"close")]
        status = HTTPStatus(answer.status_code)
        events = (
            h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request."""
        if self.lingering.lingers:
            self._read_rest(data)
            return
        if self.deadline is None:
            self._wait()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the rest of a body or of the next request."""
        self._cancel()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        super().connection_lost(exc)
        self._cancel()

    def shutdown(self) -> None:
        """Close at once, unless an answer is on its way."""
        super().shutdown()
        if self.lingering.lingers:
            self.transport.close()

    def _read_rest(self, data: bytes) -> None:
        """Leave out a body after its answer; close at its end."""
        self.rest += len(data)
        try:
            self.conn.receive_data(data)
            while isinstance(event := self.conn.next_event(), h11.Data):
                pass
        except h11.RemoteProtocolError:
            event = None
        if event is not h11.NEED_DATA or self.rest > MOST_REST:
            self.transport.close()

    def _has_rest_of_body(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY

    def _wait(self) -> None:
        self._cancel()
        self.deadline = self.loop.call_later(HEADERS, self._close_if_idle)

    def _cancel(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def _close_if_idle(self) -> None:
        self.deadline = None
        if self.lingering.lingers:
            self.transport.abort()
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.close()


class AnnouncedServer(Server):
    """A server with its addresses in the log once it answers.

    uvicorn does not for a given socket. From then on a thread does what can wait until then.
    """

    def __init__(self, config: Config, afterwards: Callable[[], object] | None = None) -> None:
        super().__init__(config)
        self._afterwards = afterwards

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Start to answer, and log the address of each socket."""
        await super().startup(sockets)
        if self._afterwards is not None:
            Thread(target=self._afterwards, name="afterwards", daemon=True).start()
        for listener in sockets or []:
            logger.info("Tessera is running on %s (Ctrl+C ends it)", address(listener, self.config))


class WorkerSupervisor(Multiprocess):
    """Workers that are replaced as soon as they end.

    uvicorn itself waits for the answer of each, also of one that has ended, for as long as a worker
    may take to start; it obeys no signal meanwhile.
    """

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._asked = WeakKeyDictionary[Process, float]()  # when, of those yet to answer

    def keep_subprocess_alive(self) -> None:
        """Replace ended and silent workers; wait for none."""
        if self.should_exit.is_set():
            return
        for place, worker in enumerate(self.processes):
            if worker.exitcode is None and self._answers(worker):
                continue
            ending = self._end(worker)
            if worker.exitcode == STARTUP_FAILURE:
                logger.error("worker %s failed to start: the service ends", worker.pid)
                self.should_exit.set()
                return
            self.processes[place] = successor = Process(self.config, self.sockets)
            successor.start()
            logger.warning("worker %s %s: %s replaces it", worker.pid, ending, successor.pid)

    def _answers(self, worker: Process) -> bool:
        """Ask a worker for a sign of life; False if it is late."""
        pipe, now = worker.parent_conn, monotonic()
        with suppress(OSError, EOFError):  # of one that has just ended
            if worker in self._asked and not pipe.poll():
                return now - self._asked[worker] < self.config.timeout_worker_healthcheck
            while pipe.poll():
                pipe.recv()
            pipe.send(b"ping")
            self._asked[worker] = now
        return True

    def _end(self, worker: Process) -> str:
        """End a worker, and describe how it ended."""
        code = worker.exitcode
        worker.kill()
        worker.join()
        if code is None:
            return f"gave no answer for {self.config.timeout_worker_healthcheck} s"
        return f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"


def address(listener: socket, config: Config) -> str:
    """Return the address to open in a browser."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if config.ssl_certfile else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def options(settings: Settings) -> dict[str, Any]:
    """Return uvicorn's options.

    `backlog` is also how many connections asyncio accepts before it looks at the first: more files
    would have to be free, and it logs each that is not.
    """
    backlog = max(min(settings.connections // 2, 500), 1)
    return OPTIONS | {"limit_concurrency": settings.connections, "backlog": backlog}


OPTIONS: dict[str, Any] = {
    "http": PatientProtocol,
    # Fixed, so that other installed packages do not change a tested service.
    "loop": "asyncio",
    "ws": "none",
    "timeout_keep_alive": KEEP_ALIVE,
    "timeout_graceful_shutdown": 5,  # then requests that are still being answered are cut
    "access_log": False,
    "proxy_headers": False,  # ProxyMiddleware does so
}
