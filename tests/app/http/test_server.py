"""The HTTP server: connections, headers, pipelines, upgrades, and noise."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import repeat
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from uvicorn import Config

from app.engine.engine import Engine
from app.http import server
from app.http.lanes import check_share
from app.main import create_app
from app.settings import Settings
from tests.processes.listening import listen

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSE = (b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")


@pytest.fixture
def small(settings: Settings, engine: Engine) -> Iterator[str]:
    """The address of a server with few connections."""
    chosen = settings.model_copy(update={"connections": 8})
    app = create_app(chosen, engine)
    with listen(app, **server.options(chosen)) as address:
        yield address


def test_what_can_wait_is_done_once_it_answers(settings: Settings, engine: Engine) -> None:
    answered = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = Config(create_app(settings, engine), log_config=None, **server.options(settings))
        serving = server.AnnouncedServer(config, lambda: serving.started and answered.set())
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert answered.wait(30)
        finally:
            serving.should_exit = True
            thread.join()


def connect(address: str, source: str = "127.0.0.1") -> socket.socket:
    parts = urlsplit(address)
    assert parts.port is not None
    place = ("127.0.0.1", parts.port)
    return socket.create_connection(place, timeout=30, source_address=(source, 0))


def ask(address: str, request: bytes) -> bytes:
    """A server's whole answer to a request and a last one."""
    answer = b""
    with connect(address) as connection, suppress(ConnectionError):
        connection.sendall(request + GET.replace(*CLOSE))
        while part := connection.recv(65536):
            answer += part
    return answer


def test_an_address_that_keeps_connections_open_leaves_some_to_others(small: str) -> None:
    with ExitStack() as stack:
        answers = list[bytes]()
        for _ in range(12):
            connection = stack.enter_context(connect(small))
            connection.sendall(GET)
            answers.append(connection.recv(65536))
        statuses = [answer[9:12] for answer in answers]
        assert statuses == [b"200"] * 6 + [b"429"] * 6
        for wanted in (b"application/problem+json", b"retry-after: 1", b"connection: close"):
            assert wanted in answers[-1].lower()
        assert b"127.0.0.1 has 6 of the 8 places for connections" in answers[-1]
        other = stack.enter_context(connect(small, "127.0.0.2"))
        other.sendall(GET)
        assert other.recv(65536).startswith(b"HTTP/1.1 200 OK")
    for _ in range(100):  # until the server has seen that they are closed
        if httpx2.get(f"{small}/livez").status_code == 200:
            return
    raise AssertionError("closed connections still count")


def test_a_burst_of_refused_connections_takes_no_place(
    settings: Settings, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, opened = settings.model_copy(update={"connections": 40}), threading.Event()

    def check_once_opened(*arguments: Any) -> None:
        assert opened.wait(60)
        check_share(*arguments)

    monkeypatch.setattr("app.http.server.check_share", check_once_opened)
    app = create_app(chosen, engine)
    with listen(app, **server.options(chosen)) as address, ExitStack() as stack:
        opened.set()
        for _ in range(40):
            connection = stack.enter_context(connect(address))
            connection.sendall(GET)
            assert connection.recv(13) in (b"HTTP/1.1 200 ", b"HTTP/1.1 429 ")
        opened.clear()
        burst = [stack.enter_context(connect(address)) for _ in range(20)]
        other = stack.enter_context(connect(address, "127.0.0.2"))
        opened.set()
        assert {connection.recv(13) for connection in burst} == {b"HTTP/1.1 429 "}
        other.sendall(GET)
        assert other.recv(13) == b"HTTP/1.1 200 "


def test_sixty_four_clients_at_once_are_answered(address: str) -> None:
    with ThreadPoolExecutor(64) as pool:
        asked = [pool.submit(httpx2.get, f"{address}/readyz", timeout=60) for _ in range(64)]
        assert {one.result().status_code for one in asked} == {200}


@pytest.mark.parametrize(
    "request_",
    [
        b"no http at all\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",  # TLS
        GET.replace(b"Host", b"Host "),
        GET.replace(b"\r\n\r\n", b"\r\nContent-Length: -1\r\n\r\n"),
        GET.replace(b"\r\n\r\n", b"\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        GET.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        GET.replace(b"/livez", b"/li\xffvez"),
        b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nnot a length\r\n",
    ],
    ids=["no", "tls", "space", "negative", "two", "gzip", "byte", "chunk"],
)
def test_what_is_no_http_is_refused_in_so_many_words(address: str, request_: bytes) -> None:
    answer = ask(address, request_)
    assert answer[9:12] in (b"400", b"501"), answer[:200]
    assert b"application/problem+json" in answer
    assert b"frame-ancestors 'none'" in answer
    assert answer.count(b"HTTP/1.1 ") == 1, "what follows is not believed either"
    assert httpx2.get(f"{address}/livez").status_code == 200


@pytest.mark.parametrize("header", [b"x" * 2**21, b"a: b\r\n" * 2**18], ids=["long", "many"])
def test_endless_headers_are_not_read(address: str, header: bytes) -> None:
    answer = ask(address, GET.replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n"))
    assert answer[9:12] in (b"400", b""), "the answer is lost where the rest is still being sent"
    assert httpx2.get(f"{address}/livez").status_code == 200


def test_requests_sent_in_one_go_are_answered_in_order(address: str) -> None:
    asked = [f"/items/{number}" for number in range(20)]
    sent = b"".join(GET.replace(b"/livez", path.encode()) for path in asked)
    answer = ask(address, sent)
    assert answer.count(b"HTTP/1.1 404 ") == 20
    places = [answer.index(f'"instance":"{path}"'.encode()) for path in asked]
    assert places == sorted(places)


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_refused_body_is_read_to_its_end_before_the_connection_closes(
    address: str, version: bytes
) -> None:
    part, parts = b"0" * 2**20, 64
    head = (
        b"POST /search/image HTTP/%b\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (version, len(part) * parts)
    )
    with connect(address) as client:
        client.sendall(head)
        for _ in range(parts):  # a client that reads no answer before
            client.sendall(part)
        answer = b"".join(iter(lambda: client.recv(2**16), b""))
    assert b" 413 " in answer.partition(b"\r\n")[0]
    assert answer.endswith(b"}")


def test_a_connection_closes_at_the_end_of_a_refused_body(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEADERS", 60)
    body = b"0" * 2**20
    head = (
        b"POST /search/image HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    with connect(address) as client:
        client.sendall(head)
        assert client.recv(2**16).startswith(b"HTTP/1.1 413 ")
        client.sendall(body)
        assert is_left(client, 10)


@pytest.mark.parametrize("fails", [True, False])
def test_a_connection_without_a_whole_answer_ends(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEADERS", 0.5)

    async def begin(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if fails:
            raise RuntimeError("a bug")

    options = {**server.OPTIONS, "lifespan": "off"}
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n"
    with listen(begin, **options) as address, connect(address) as client:
        client.sendall(head)
        assert client.recv(2**16).startswith(b"HTTP/1.1 200 ")
        assert is_left(client, 10)


def test_a_client_that_has_just_left_is_no_error() -> None:
    async def close() -> bool:
        near, far = socket.socketpair()
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, sock=near
        )
        lingering = server.LingeringTransport(transport, lambda: True, lambda: None)
        near.shutdown(socket.SHUT_RDWR)
        far.close()

        def fail() -> None:
            raise OSError(107, "Transport endpoint is not connected")  # as of a reset socket

        transport.write_eof = fail  # type: ignore[method-assign]
        lingering.close()
        return transport.is_closing()

    assert asyncio.run(close())


def is_left(client: socket.socket, seconds: float) -> bool:
    """Return whether a server closes its side within some seconds."""
    end = monotonic() + seconds
    while monotonic() < end:
        try:
            client.sendall(b"0")  # the first is answered by a reset
        except OSError:
            return True
        sleep(0.1)
    return False


def test_a_client_that_goes_on_sending_is_cut_after_some_seconds(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HEADERS", 0.5)
    head = b"POST /search/image HTTP/1.0\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n"
    with connect(address) as client:
        client.sendall(head)
        zeros = repeat(b"0" * 2**16)
        with pytest.raises(ConnectionError):
            deque(map(client.sendall, zeros), maxlen=0)


def test_no_request_hides_in_the_body_of_another(address: str) -> None:
    hidden = GET.replace(b"/livez", b"/hidden")
    head = b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for body in (
        b"Content-Length: %d\r\n\r\n%b" % (len(hidden), hidden),
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden),
    ):
        assert b"/hidden" not in ask(address, head + body)


@pytest.mark.parametrize("path", ["/livez", "/items", "/search/image", "/docs", "/"])
def test_an_upgrade_is_no_way_around_and_no_error(address: str, path: str) -> None:
    upgrade = (
        b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    answer = ask(address, GET.replace(b"/livez", path.encode()).replace(b"\r\n\r\n", upgrade))
    assert answer[9:12] in (b"200", b"405")


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "OPTIONS", "FOO"])
def test_odd_methods_and_targets_are_refused(address: str, method: str) -> None:
    cookie = b"\r\nCookie: tessera_session=secret\r\n\r\n"
    for target in ("/livez", "/items/a", "*", "http://evil.example/", "a:1", "//"):
        line = f"{method} {target} HTTP/1.1".encode()
        sent = GET.replace(b"GET /livez HTTP/1.1", line).replace(b"\r\n\r\n", cookie)
        answer = ask(address, sent)
        assert answer[9:12] in (b"400", b"403", b"404", b"405"), (target, answer[:100])
        assert b"secret" not in answer, target


def test_headers_of_16_kb_are_read_and_longer_ones_are_refused_by_name(small: str) -> None:
    # What sign-ons of a whole domain bring along: AWS and Node read as much.
    for name in ("authorization", "cookie"):
        answer = httpx2.get(f"{small}/livez", headers={name: "a" * 16_000})
        assert answer.status_code == 200
        refused = httpx2.get(f"{small}/livez", headers={name: "a" * 17_000})
        assert refused.status_code == 431
        assert f"the header {name} has 17,000 bytes" in refused.json()["detail"]
