"""The whole application: reference, health, page, headers."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.main import create_app, warm_up
from app.settings import Settings

Png = Callable[..., bytes]


def test_service_is_alive_before_and_ready_after_its_model_is_there(
    settings: Settings, engine: Engine
) -> None:
    app = create_app(settings.model_copy(update={"matcher": Path("nowhere.safetensors")}))
    with TestClient(app) as client:
        assert client.get("/healthz").status_code == 200
        waiting = client.get("/readyz")
        assert waiting.status_code == 503
        assert waiting.headers["retry-after"] == "1"
        app.state.engine = engine
        ready = client.get("/readyz").json()
        assert ready.pop("checked") < 60
        assert ready == {"status": "ready", "collections": {"searched": 0, "refused": 0}}
    app = create_app(settings.model_copy(update={"matcher": Path("nowhere.safetensors")}))
    with TestClient(app):
        pass
    assert "no checkpoint at nowhere.safetensors" in app.state.failure


def test_engine_is_loaded_in_the_background(settings: Settings, small_matcher: Path) -> None:
    chosen = {"matcher": small_matcher, "captioner": None, "grounder": None}
    app = create_app(settings.model_copy(update=chosen))
    with TestClient(app) as client:
        while client.get("/readyz").status_code == 503:
            assert app.state.failure is None
        answer = client.get("/model").json()
    assert answer["matcher"] | {"fingerprint": ""} == {
        "name": "dvsa",
        "fingerprint": "",
        "dimension": 8,
        "score": "sum_of_max",
    }
    assert answer["captioner"] is None
    assert answer["grounder"] is None
    assert answer["limits"]["upload_pixels"] == 10**6


def test_a_worker_takes_requests_once_its_engine_is_loaded(
    settings: Settings, small_matcher: Path
) -> None:
    chosen = {"matcher": small_matcher, "captioner": None, "grounder": None}
    with TestClient(create_app(settings.model_copy(update=chosen), load_first=True)) as client:
        assert client.get("/readyz").status_code == 200


def test_garbage_is_looked_for_in_what_is_new_and_seldom(engine: Engine) -> None:
    thresholds = gc.get_threshold()
    gc.unfreeze()
    try:
        warm_up(engine)
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == (10_000, *thresholds[1:])
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def test_reference_describes_every_route_and_body(app: FastAPI, client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    routes = {
        "/search/image",
        "/search/text",
        "/search/products",
        "/suggest",
        "/align",
        "/ground",
        "/caption",
        "/items",
        "/items/{id}",
        "/examples",
    }
    routes |= {"/search/regions", "/items/{id}/crop", "/items/{id}/magnitudes"}
    routes |= {"/items/{id}/image", "/healthz", "/readyz", "/metrics", "/collections", "/model"}
    routes |= {"/index", "/index/audit", "/session", "/snapshots", "/snapshots/{name}"}
    routes |= {
        "/livez",
        "/items/delete",
        "/items/restore",
        "/collections/{name}",
        "/collections/{name}/imports",
    }
    routes |= {"/aliases", "/aliases/{name}", "/duplicates", "/items/{id}/original"}
    routes |= {"/collections/{name}/synonyms", "/collections/{name}/pins", "/events/clicks"}
    routes |= {"/collections/{name}/language"}
    routes |= {"/collections/{name}/webhooks", "/collections/{name}/webhooks/{id}"}
    assert set(document["paths"]) == routes
    referred = set(re.findall(r'"#/components/schemas/(\w+)"', client.get("/openapi.json").text))
    assert referred <= set(document["components"]["schemas"])
    body = document["paths"]["/search/image"]["post"]["requestBody"]["content"]
    assert set(body) == {"application/json", "multipart/form-data"}


def test_page_and_reference_load_from_this_host_alone(client: TestClient) -> None:
    for page in ("/", "/docs"):
        answer = client.get(page)
        assert answer.headers["content-type"].startswith("text/html")
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "//" not in answer.text.replace("</", "")
        for address in re.findall(r'(?:src|href)="([^#"]+)"', answer.text):
            assert client.get(f"/{address}").status_code == 200, address


def test_every_answer_keeps_browsers_from_guessing(client: TestClient) -> None:
    for path in ("/", "/healthz", "/nothing", "/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert "access-control-allow-origin" not in headers, path


FRAMED = """/ /docs /docs?a=b /docs/ /docs/viewer/swagger-ui.css /page/main.js /nothing /items
/items/red /items/red/image /items/none/image /livez /metrics /openapi.json /search/image"""


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "TRACE"])
def test_no_answer_can_be_shown_in_a_frame(client: TestClient, png: Png, method: str) -> None:
    client.put("/items/red", files={"image": png("red")})
    for path in FRAMED.split():
        check_frames(client.request(method, path).headers)


def test_no_answer_to_what_is_refused_or_fails_can_be_shown_in_a_frame(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(engine.catalog.names, "all", fail)
    refused = {"host": "evil.example"}, {"content-length": "5", "transfer-encoding": "chunked"}
    for headers in ({}, *refused):
        answer = client.get("/collections", headers=headers)
        assert answer.status_code in (400, 500)
        check_frames(answer.headers)
    foreign = {"origin": "https://evil.example"}
    check_frames(client.post("/snapshots", headers=foreign).headers)


def check_frames(headers: Mapping[str, str]) -> None:
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"


def test_named_origins_may_call(settings: Settings, engine: Engine) -> None:
    chosen = settings.model_copy(update={"cors_origins": ("https://shop.example",)})
    with TestClient(create_app(chosen, engine)) as client:
        for origin, allowed in (("https://shop.example", True), ("https://else.example", False)):
            headers = client.get("/healthz", headers={"origin": origin}).headers
            assert ("access-control-allow-origin" in headers) == allowed


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_PORT", "9999")
    monkeypatch.setenv("TESSERA_CORS_ORIGINS", '["https://a.example"]')
    assert Settings().port == 9999
    assert Settings().cors_origins == ("https://a.example",)


def test_former_name_of_a_setting_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESSERA_INFERENCE", raising=False)  # which all tests have
    monkeypatch.setenv("TESSERA_ENGINE", "openvino")
    assert Settings().inference == "openvino"
    assert Settings(inference="torch").inference == "torch"
    monkeypatch.setenv("TESSERA_INFERENCE", "torch")
    assert Settings().inference == "torch"


def test_service_logs_former_names_of_settings(
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    create_app(settings, engine)
    assert caplog.messages == []
    monkeypatch.setenv("tessera_engine", "torch")
    create_app(settings, engine)
    [message] = caplog.messages
    assert message.startswith("TESSERA_ENGINE is now TESSERA_INFERENCE")


def test_service_refuses_misspelt_settings_and_logs_unknown_ones(
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TESSERA_SERVICE_HOST", "10.0.0.5")  # as Kubernetes sets it
    create_app(settings, engine)
    assert caplog.messages == ["TESSERA_SERVICE_HOST is no setting, and is not read"]
    monkeypatch.setenv("TESSERA_CONCURENCY_LIMIT", "8")
    with pytest.raises(ValueError, match="did you mean TESSERA_CONCURRENCY_LIMIT"):
        create_app(settings, engine)


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())
