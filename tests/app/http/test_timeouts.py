"""Slow, absent or silent clients keep no one waiting."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest
import uvicorn

from app.access.key_file import add_key
from app.access.keys import make_key
from app.engine.engine import Engine
from app.http import server
from app.main import create_app
from app.roles import Role
from app.settings import Settings
from app.telemetry.metrics import OWN
from tests.processes.waiting import eventually

LINES = b"POST /items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
SEARCH = b"POST /search/image HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def impatient(
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[uvicorn.Server]:
    """A server with limits of a second, or other settings."""
    chosen = getattr(request, "param", {"idle_seconds": 1, "body_rate": 0})
    monkeypatch.setattr(server, "HEADERS", 30.0 if hasattr(request, "param") else 1.0)
    app = create_app(settings.model_copy(update=chosen), engine)
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
    """All bytes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost:"])
def test_a_connection_without_a_whole_request_is_closed(impatient, sent: bytes) -> None:
    with connect(impatient) as connection:
        connection.sendall(sent)
        assert all_of(connection) == b""


def test_a_connection_that_was_answered_waits_for_the_next_request(impatient) -> None:
    """Otherwise a client would not know the fate of its request."""
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


@pytest.mark.parametrize("impatient", [{"idle_seconds": 60}], indirect=True)
def test_a_server_that_ends_answers_what_it_cuts_off(impatient, engine, caplog) -> None:
    def count() -> float:
        labels = {"method": "POST", "route": "/items", "status": "503"}
        return OWN.get_sample_value("tessera_http_requests_total", labels) or 0.0

    before = count()
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
    assert count() == before + 1, "the import, whose answer had begun with 200"
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


@pytest.mark.parametrize("impatient", [{"idle_seconds": 1, "body_rate": 10**6}], indirect=True)
def test_a_body_that_comes_byte_by_byte_is_ended(impatient) -> None:
    with connect(impatient) as connection:
        connection.sendall(SEARCH + b"Content-Length: 1000\r\n\r\n")
        answer = trickle(connection, b" ")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body came too slowly" in answer
    assert b"after 1 seconds 1,000,000 bytes must come a second" in answer


@pytest.mark.parametrize("impatient", [{"idle_seconds": 1, "body_rate": 10**6}], indirect=True)
def test_a_line_that_comes_byte_by_byte_ends_an_import(impatient, engine: Engine) -> None:
    with connect(impatient) as connection:
        line = b'{"id": "a", "sentences": ["red"]}\n'
        connection.sendall(LINES + b"Content-Length: 1000000\r\n\r\n" + line)
        answer = trickle(connection, b"{")
    assert b'"line":1,"id":"a","status":"stored"' in answer
    assert b'"line":2,"status":"refused","reason":"the line came too slowly' in answer


@pytest.mark.parametrize("impatient", [{"idle_seconds": 1, "body_rate": 10**6}], indirect=True)
def test_an_import_that_takes_its_time_between_lines_lives(impatient) -> None:
    """Producers of slow rows send empty lines meanwhile."""
    with connect(impatient) as connection:
        connection.sendall(LINES + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(2):
            for _ in range(5):
                connection.sendall(b"1\r\n\n\r\n")
                time.sleep(0.4)
            line = b'{"id": "a", "sentences": ["red"]}\n'
            connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
        connection.sendall(b"0\r\n\r\n")
        answer = b""
        while not answer.endswith(b"0\r\n\r\n"):
            answer += connection.recv(65536)
    assert answer.count(b'"status":"stored"') == 2


def trickle(connection: socket.socket, byte: bytes) -> bytes:
    """The answer to a body of slow, single bytes."""
    connection.settimeout(0.2)
    answer, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        try:
            part = connection.recv(65536)
        except TimeoutError:
            connection.sendall(byte)
        else:
            answer += part
            if b"too slowly" in answer or not part:
                return answer
    raise AssertionError("it was not ended")


def test_bodies_that_are_still_coming_keep_no_one_from_computing(impatient, png) -> None:
    """More bodies than places; others are answered all the same."""
    port = impatient.servers[0].sockets[0].getsockname()[1]
    heads = {
        path: (
            b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
            b"Content-Type: multipart/form-data; boundary=XX\r\n\r\n--XX\r\n" % path
        )
        for path in (b"/search/image", b"/search/text", b"/align", b"/caption")
    }
    with ExitStack() as stack:
        for head in [*heads.values()] * 10:
            stack.enter_context(connect(impatient)).sendall(head)
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            photo = {"image": ("a.png", png("red"))}
            assert client.post("/search/image", files=photo).status_code == 200
            assert client.post("/search/image", json={"text": "red"}).status_code == 200


@pytest.mark.parametrize("impatient", [{"idle_seconds": 60}], indirect=True)
def test_answers_behind_a_proxy_begin_after_the_last_line(impatient, engine: Engine) -> None:
    lines = [b'{"id": "%d", "sentences": ["red"]}\n' % number for number in range(2)]
    sent = b"Content-Length: %d\r\n\r\n%b" % (len(b"".join(lines)), lines[0])
    with connect(impatient) as direct, connect(impatient) as forwarded:
        direct.sendall(LINES + sent)
        answer = direct.recv(65536)
        while b'"line":1' not in answer:
            answer += direct.recv(65536)
        engine.catalog.delete(engine.open("default"), "0")
        chunk = b"%x\r\n%b\r\n" % (len(lines[0]), lines[0])
        coming = b"X-Forwarded-For: 10.0.0.7\r\nTransfer-Encoding: chunked\r\n\r\n"
        forwarded.sendall(LINES + coming + chunk)
        eventually(lambda: engine.catalog.count(engine.open("default")) == 1, 60)
        forwarded.settimeout(0.5)
        with pytest.raises(TimeoutError):
            forwarded.recv(1)
        forwarded.settimeout(60)
        forwarded.sendall(b"%x\r\n%b\r\n" % (len(lines[1]), lines[1]))
        eventually(lambda: engine.catalog.count(engine.open("default")) == 2, 60)
        time.sleep(0.5)  # so the end comes after the last status
        forwarded.sendall(b"0\r\n\r\n")
        answer = b""
        while b'"line":2' not in answer:
            answer += (part := forwarded.recv(65536))
            assert part
        assert answer.count(b'"status":"stored"') == 2
        assert b"x-accel-buffering: no" in answer.lower()


@pytest.mark.parametrize("impatient", [{"idle_seconds": 60, "imports": 8}], indirect=True)
def test_one_caller_never_has_all_imports(impatient, settings: Settings, engine: Engine) -> None:
    keys = [make_key(name, Role.WRITE) for name in ("slow", "other")]
    for _, key in keys:
        add_key(settings.keys_file, key)
    (slow, _), (other, _) = keys
    port = impatient.servers[0].sockets[0].getsockname()[1]
    line = b'{"id": "a", "sentences": ["red"]}\n'
    with ExitStack() as stack:
        sent = b"X-API-Key: %b\r\nContent-Length: 1000\r\n\r\n%b" % (slow.encode(), line)
        connections = [stack.enter_context(connect(impatient)) for _ in range(12)]
        answers = list[bytes]()
        for connection in connections:
            connection.sendall(LINES + sent)
            answers.append(connection.recv(15))
        assert answers.count(b"HTTP/1.1 200 OK") == 6
        assert answers.count(b"HTTP/1.1 429 To") == 6
        headers = {"x-api-key": other, "content-type": "application/x-ndjson"}
        url = f"http://127.0.0.1:{port}/items"
        stored = httpx2.post(url, content=line, headers=headers, timeout=60)
        assert (stored.status_code, stored.json()["status"]) == (200, "stored")
