"""Many clients get right answers, and too many are deferred."""

from __future__ import annotations

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.http.lanes import Lane


def test_clients_search_while_others_write(address: str) -> None:
    with httpx2.Client(base_url=address, timeout=60) as client, ThreadPoolExecutor(8) as pool:

        def write(number: int) -> str:
            item = {"sentences": [f"red {number}"]}
            return client.put(f"/items/{number}", json=item).json()["id"]

        def search(_: int) -> list[float]:
            body = {"text": "red", "limit": 100}
            hits = client.post("/search/text", json=body).json()["hits"]
            return [hit["score"] for hit in hits]

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


def test_request_beyond_the_queue_is_told_when_to_come_again(
    address: str, engine: Engine, monkeypatch: pytest.MonkeyPatch, client: TestClient
) -> None:
    lanes = replace(client.app.state.lanes, searches=Lane("searches", 1, 0, patience=None))
    monkeypatch.setattr(client.app.state, "lanes", lanes)
    entered, leave = threading.Event(), threading.Event()
    embed = engine.models.matcher.embed_sentences

    def slow(texts: list[str]) -> object:
        entered.set()
        assert leave.wait(60)
        return embed(texts)

    monkeypatch.setattr(engine.models.matcher, "embed_sentences", slow)
    path, body = f"{address}/search/image", {"text": "red"}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpx2.post, path, json=body, timeout=60)
        assert entered.wait(60)
        refused = httpx2.post(path, json=body, timeout=60)
        leave.set()
        assert first.result().json()["hits"] == []
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "1"
