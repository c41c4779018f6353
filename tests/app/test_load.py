"""Many clients at once get right answers, and too many are told to wait."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from starlette.testclient import TestClient

from app.engine import Engine
from app.errors import Unavailable
from app.gate import Gate

Png = Callable[..., bytes]
JSON = {"Content-Type": "application/json"}


def post(address: str, body: object, **headers: str) -> dict:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urlopen(Request(address, data, JSON | headers), timeout=60) as answer:
        return json.loads(answer.read().splitlines()[-1])


def test_clients_search_while_others_write(address: str) -> None:
    def write(number: int) -> str:
        item = {"sentences": [f"red {number}"]}
        data = json.dumps(item).encode()
        sent = Request(f"{address}/items/{number}", data, JSON, method="PUT")
        with urlopen(sent, timeout=60) as answer:
            return json.loads(answer.read())["id"]

    def search(_: int) -> list[float]:
        answer = post(f"{address}/search/text", {"text": "red", "limit": 100})
        return [hit["score"] for hit in answer["hits"]]

    with ThreadPoolExecutor(8) as pool:
        written, searched = pool.map(write, range(30)), pool.map(search, range(30))
        assert sorted(map(int, written)) == list(range(30))
        assert all(scores == sorted(scores, reverse=True) for scores in searched)
    assert len(search(0)) == 30


def test_status_lines_come_while_lines_are_still_sent(address: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.putrequest("POST", "/items")
    connection.putheader("Content-Type", "application/x-ndjson")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()

    def send(line: bytes) -> None:
        connection.send(b"%x\r\n%s\r\n" % (len(line), line))

    send(b'{"id": "a", "sentences": ["red"]}\n')
    answer = connection.getresponse()
    assert json.loads(answer.readline())["id"] == "a"
    send(b'{"id": "b", "sentences": ["red"]}\n')
    assert json.loads(answer.readline())["id"] == "b"
    connection.send(b"0\r\n\r\n")
    assert answer.readline() == b""
    connection.close()


def test_declared_length_that_is_too_long_is_refused_unread(address: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.putrequest("POST", "/search/image")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "99999999999")
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_gate_lets_in_as_many_as_it_says() -> None:
    gate, inside, most = Gate(2, 98), 0, 0
    lock = threading.Lock()

    def enter(_: int) -> None:
        nonlocal inside, most
        with gate:
            with lock:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.001)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(enter, range(100)))
    assert most == 2


def test_full_gate_refuses_and_opens_again() -> None:
    gate = Gate(1, 0)
    with gate, pytest.raises(Unavailable, match="try again"), gate:
        pass
    with gate:
        pass


def test_request_beyond_the_queue_is_told_when_to_come_again(
    address: str, engine: Engine, monkeypatch: pytest.MonkeyPatch, client: TestClient
) -> None:
    monkeypatch.setattr(client.app.state, "gate", Gate(1, 0))
    entered, leave = threading.Event(), threading.Event()
    embed = engine.matcher.embed_sentences

    def slow(texts: list[str]) -> object:
        entered.set()
        assert leave.wait(60)
        return embed(texts)

    monkeypatch.setattr(engine.matcher, "embed_sentences", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, f"{address}/search/image", {"text": "red"})
        assert entered.wait(60)
        with pytest.raises(HTTPError) as refused:
            post(f"{address}/search/image", {"text": "red"})
        leave.set()
        assert first.result()["hits"] == []
    assert refused.value.code == 503
    assert refused.value.headers["retry-after"] == "1"
    refused.value.close()
