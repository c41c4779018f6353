"""Clients that are slow, leave, or send nothing keep nobody waiting."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
import uvicorn

from app import server
from app.engine import Engine
from app.main import create_app
from app.metrics import OWN
from app.settings import Settings

LINES = b"POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
SEARCH = b"POST /search/image HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def impatient(
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[uvicorn.Server]:
    """A server that waits for nothing longer than a second, or so many for bodies."""
    monkeypatch.setattr(server, "HEADERS", 1.0)
    idle = getattr(request, "param", 1)
    app = create_app(settings.model_copy(update={"idle_seconds": idle}), engine)
    options = server.OPTIONS | {"timeout_graceful_shutdown": 1}
    config = uvicorn.Config(app, port=0, log_config=None, log_level="error", **options)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        thread.join(0.01)
    yield running
    running.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def connect(running: uvicorn.Server) -> socket.socket:
    return socket.create_connection(running.servers[0].sockets[0].getsockname(), timeout=30)


def all_of(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost:"])
def test_a_connection_without_a_whole_request_is_closed(impatient, sent: bytes) -> None:
    with connect(impatient) as connection:
        connection.sendall(sent)
        assert all_of(connection) == b""


def test_a_connection_that_was_answered_waits_for_the_next_request(impatient) -> None:
    """A client that sends just as it is closed would not know whether that was done."""
    with connect(impatient) as connection:
        for pause in (1.5, 0):
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 ")
            time.sleep(pause)
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost:")
        assert all_of(connection) == b""


def test_a_body_that_does_not_come_is_answered_408_and_the_connection_closed(impatient) -> None:
    with connect(impatient) as connection:
        connection.sendall(SEARCH + b'Content-Length: 100\r\n\r\n{"text":')
        answer = all_of(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in answer
    assert b"at most 1 seconds between two parts" in answer


def test_a_body_with_two_lengths_is_refused_with_all_that_follows(impatient) -> None:
    hidden = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with connect(impatient) as connection:
        connection.sendall(SEARCH + lengths + hidden)
        answer = all_of(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"urn:tessera:problem:two-lengths" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_an_import_that_pauses_is_told_so_and_keeps_what_came(impatient, engine: Engine) -> None:
    line = b'{"id": "a", "sentences": ["red"]}\n{"id": "b"'
    with connect(impatient) as connection:
        connection.sendall(LINES + b"Content-Length: 1000\r\n\r\n" + line)
        answer = all_of(connection)
    assert b'"line":1,"id":"a","status":"stored"' in answer
    assert b'"line":2,"status":"refused","reason":"nothing came for 1 seconds' in answer
    assert engine.catalog.get(engine.open("default"), "a").sentences == ("red",)


@pytest.mark.parametrize("impatient", [60], indirect=True)
def test_a_server_that_ends_answers_what_it_cuts_off(impatient, engine, caplog) -> None:
    line = b'{"id": "a", "sentences": ["red"]}\n{"id": "b"'
    with connect(impatient) as search, connect(impatient) as lines:
        search.sendall(SEARCH + b"Content-Length: 100\r\n\r\n{")
        lines.sendall(LINES + b"Content-Length: 1000\r\n\r\n" + line)
        while b"stored" not in lines.recv(65536):
            pass
        impatient.should_exit = True
        answer = all_of(search)
        all_of(lines)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1\r\n" in answer.lower()
    assert b"the service ends" in answer
    assert [record.message for record in caplog.records if record.exc_info] == []
    assert engine.catalog.get(engine.open("default"), "a").sentences == ("red",)


def test_work_of_clients_that_left_is_not_done_and_counted_apart(
    impatient, engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    entered, leave, texts = threading.Event(), threading.Event(), list[str]()
    embed = engine.models.matcher.embed_sentences

    def slow(sentences):
        texts.extend(sentences)
        entered.set()
        assert leave.wait(60)
        return embed(sentences)

    monkeypatch.setattr(engine.models.matcher, "embed_sentences", slow)
    port = impatient.servers[0].sockets[0].getsockname()[1]
    address = f"http://127.0.0.1:{port}"

    def search(text: str) -> httpx2.Response:
        return httpx2.post(f"{address}/search/image", json={"text": text}, timeout=60)

    def left() -> float | None:
        labels = {"method": "POST", "route": "/search/image", "status": "499"}
        return OWN.get_sample_value("tessera_http_requests_total", labels)

    before = left()
    with ThreadPoolExecutor(2) as pool, caplog.at_level(logging.ERROR):
        running = [pool.submit(search, text) for text in ("red", "blue")]
        while len(texts) < 2:
            entered.wait(0.01)
        with connect(impatient) as connection:
            body = b'{"text": "green"}'
            connection.sendall(SEARCH + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            time.sleep(0.2)
        deadline = time.monotonic() + 30
        while left() == before:
            assert time.monotonic() < deadline
        leave.set()
        assert {one.result().status_code for one in running} == {200}
    assert sorted(texts) == ["blue", "red"]
    assert caplog.records == []
