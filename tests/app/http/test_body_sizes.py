"""Bodies are bounded by route, on disk, and few in memory."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.access.key_file import add_key
from app.access.keys import make_key
from app.engine.engine import Engine
from app.http import lanes
from app.http.errors import Problem, Unavailable
from app.http.lanes import Lane
from app.http.openapi import MODELS
from app.main import create_app
from app.roles import Role
from app.routes import uploads
from app.schemas.fields import RequestBody
from app.schemas.items import ImportLine, ImportStatus, ItemBody
from app.schemas.search import ImageSearch
from app.schemas.session import SessionIn
from app.settings import Settings

Png = Callable[..., bytes]
MERGE = {"content-type": "application/merge-patch+json"}
ROUTES = [
    *(("POST", "/session"), ("PATCH", "/collections/default"), ("PUT", "/aliases/a")),
    *(("POST", "/search/image"), ("POST", "/search/text"), ("POST", "/search/products")),
    *(("POST", "/align"), ("POST", "/ground"), ("POST", "/caption"), ("POST", "/index/audit")),
    *(("POST", "/items/delete"), ("PUT", "/items/a"), ("PATCH", "/items/a")),
]


def test_every_body_has_a_size() -> None:
    bodies = [model for model in MODELS if model not in (ImportLine, ImportStatus, Problem)]
    assert all(issubclass(model, RequestBody) and model.most_text for model in bodies)
    assert SessionIn.most_text < ImageSearch.most_text < 2**20 < ItemBody.most_text


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_body_longer_than_its_route_needs_is_refused(
    settings: Settings, engine: Engine, method: str, path: str
) -> None:
    """Also a body without a length; an item's text apart."""
    large = settings.model_copy(update={"text_bytes": 2**20})

    def pieces():  # type: ignore[no-untyped-def]
        yield b'{"text": "'
        for _ in range(25):
            yield b"x" * 2**16

    headers = {"content-type": "application/json"}
    with TestClient(create_app(large, engine)) as client:
        answer = client.request(method, path, content=pieces(), headers=headers)
    assert answer.status_code == 413
    assert "bytes" in answer.json()["detail"]


def test_no_more_of_a_body_without_a_key_is_read_than_a_key_takes(client: TestClient) -> None:
    refused = client.post("/session", json={"key": "x" * 4_100})
    assert (refused.status_code, "4,096 bytes" in refused.text) == (413, True)
    longest = client.post("/session", content=json.dumps({"key": "é" * 600}))
    assert longest.status_code == 415
    assert client.post("/session", json={"key": "x" * 1000}).status_code == 401


def test_a_key_is_checked_before_a_body_is_read(settings: Settings, engine: Engine) -> None:
    _, key = make_key("anna", Role.READ)
    add_key(settings.keys_file, key)
    with TestClient(create_app(settings, engine)) as client:
        for method, path in ROUTES[1:]:
            headers = {"content-type": "application/json", "content-length": "99999999"}
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == 401, path


@pytest.mark.parametrize("path", ["/search/image", "/align", "/items/a"])
def test_the_fields_of_a_form_are_bounded_together(client: TestClient, png: Png, path: str) -> None:
    """Parts without a file are kept in memory."""
    form = {f"text{number}": "x" * 30_000 for number in range(8)}
    method = "PUT" if path == "/items/a" else "POST"
    answer = client.request(method, path, data=form, files={"image": png("red")})
    assert answer.status_code == 413
    assert "bytes of text" in answer.json()["detail"]


def test_long_bodies_are_on_disk_until_their_turn(
    client: TestClient, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    rolled = list[bool]()
    spooled = uploads.SpooledTemporaryFile

    class Watched(spooled):  # type: ignore[valid-type, misc]
        def rollover(self) -> None:
            rolled.append(True)
            super().rollover()

    monkeypatch.setattr(uploads, "SpooledTemporaryFile", Watched)
    client.put("/items/a", json={"sentences": ["red"]})
    assert not rolled
    photo = base64.b64encode(png("red") + b"\0" * 100_000).decode()
    assert client.patch("/items/a", json={"images": [photo]}, headers=MERGE).status_code == 200
    assert rolled


def test_few_large_bodies_are_in_memory_at_once(
    client: TestClient, app: FastAPI, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "LARGE", 2**16)
    inside, most, lock = 0, 0, threading.Lock()
    read_json = uploads.read_json

    def watch(*arguments):  # type: ignore[no-untyped-def]
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1
        return read_json(*arguments)

    client.put("/items/a", json={"sentences": ["red"]})
    monkeypatch.setattr(uploads, "read_json", watch)
    photo = base64.b64encode(png("red") + b"\0" * 100_000).decode()

    def send(number: int) -> int:
        body = {"images": [photo]}
        if number % 2:
            return client.put(f"/items/{number}", json=body).status_code
        return client.patch("/items/a", json=body, headers=MERGE).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, range(12))) <= {200, 201}
    assert 1 <= most <= app.state.settings.running


def test_who_waits_too_long_for_room_is_told_so() -> None:
    lane = Lane("photos", 1, 9, patience=0.01)

    async def check() -> None:
        async with lane.room(lanes.LARGE + 1):
            async with lane.room(lanes.LARGE):  # small ones need no turn
                pass
            with pytest.raises(Unavailable, match="busy"):
                async with lane.room(lanes.LARGE + 1):
                    pass
        async with lane.room(lanes.LARGE + 1):
            pass

    asyncio.run(check())
