from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from app.telemetry import logs
from app.telemetry.metrics import OWN

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    """The service's log lines of JSON, in order."""
    texts = list[str]()

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(self.format(record))

    handler = Kept()
    handler.setFormatter(logs.formatter("json"))
    logger = logging.getLogger("tessera")
    logger.addHandler(handler)
    with caplog.at_level("INFO", logger="tessera"):
        yield lambda: [json.loads(text) for text in texts]
    logger.removeHandler(handler)


def counted(**labels: str) -> float:
    return OWN.get_sample_value("tessera_http_requests_total", labels) or 0.0


def series() -> set[tuple[str, ...]]:
    return {
        tuple(sample.labels.values())
        for family in OWN.collect()
        for sample in family.samples
        if sample.name.startswith("tessera_http")
    }


def test_a_request_is_one_line(client: TestClient, lines: Lines):
    answer = client.put(
        "/items/a", json={"sentences": ["red"]}, headers={"x-request-id": "proxy-17"}
    )
    assert answer.headers["x-request-id"] == "proxy-17"
    (line,) = lines()
    assert 0 < line.pop("seconds") < 60
    assert line.pop("timestamp")
    assert line == {
        "event": "request",
        "level": "info",
        "logger": "tessera.requests",
        "method": "PUT",
        "route": "/items/{id}",
        "status": 201,
        "collection": "default",
        "request_id": "proxy-17",
    }


@pytest.mark.parametrize(
    "forged", ["", "a b", "a\x1b[2J", "x" * 129, 'a"}', "é"], ids=lambda forged: ascii(forged)[:12]
)
def test_a_request_id_that_is_not_sane_is_replaced(client: TestClient, lines: Lines, forged: str):
    answer = client.get("/livez", headers={"x-request-id": forged.encode("latin-1")})
    (line,) = lines()
    assert line["request_id"] == answer.headers["x-request-id"]
    assert len(line["request_id"]) == 32
    assert line["request_id"].isalnum()


def test_requests_have_ids_of_their_own(client: TestClient):
    ids = {client.get("/livez").headers["x-request-id"] for _ in range(3)}
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("/search/image", {"text": "a crimson kite"}, "a crimson kite"),
        ("/search/text", {"phrases": [{"text": "kite"}, {"text": "crimson"}]}, "kite, crimson"),
        ("/align", {"text": "a crimson kite", "id": "a"}, "a crimson kite"),
        ("/ground", {"text": "a crimson kite", "id": "a"}, "a crimson kite"),
    ],
)
def test_what_people_search_for_is_logged_only_if_asked(
    settings: Settings, engine: Engine, png, lines: Lines, path: str, body: Any, text: str
):
    chosen = settings.model_copy(update={"log_queries": True})
    with TestClient(create_app(settings, engine)) as client:
        client.put("/items/a", files={"image": png("red")})
        assert client.post(path, json=body).status_code == 200
    assert "crimson" not in json.dumps(lines())
    with TestClient(create_app(chosen, engine)) as client:
        client.post(path, json=body)
    assert lines()[-1]["query"] == text


def test_a_failure_of_the_service_is_told_by_its_request_id(
    app: FastAPI, engine: Engine, lines: Lines, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Engine, "search", lambda *_: 1 / 0)
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.post(
            "/search/image", json={"text": "red"}, headers={"x-request-id": "proxy-17"}
        )
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "proxy-17")
    assert (lines()[-1]["status"], lines()[-1]["request_id"]) == (500, "proxy-17")


def test_requests_are_counted_by_route_not_by_address(client: TestClient):
    labels = {"method": "GET", "route": "/items/{id}", "status": "404"}
    before = counted(**labels)
    client.get("/items/a")
    client.get("/items/b")
    assert counted(**labels) == before + 2


def test_what_clients_make_up_makes_no_series(client: TestClient):
    def ask(number: int) -> None:
        for path in ("/livez", f"/items/{number}", f"/made-up-{number}", f"/docs/viewer/{number}"):
            client.request(f"MADE{number}", path)
            client.get(f"{path}?{number}")

    ask(1)
    before = series()
    ask(2)
    ask(3)
    assert series() == before
    assert not [labels for labels in before if "made" in " ".join(labels).lower()]


def test_the_name_of_a_key_is_logged_and_never_the_key(
    settings: Settings, engine: Engine, lines: Lines
):
    secret = "tessera_" + "k" * 43
    chosen = settings.model_copy(update={"read_key": SecretStr(secret)})
    with TestClient(create_app(chosen, engine)) as client:
        headers = {"authorization": f"Bearer {secret}"}
        assert client.get("/items", headers=headers).status_code == 200
    assert lines()[-1]["key"]
    assert secret not in json.dumps(lines())
