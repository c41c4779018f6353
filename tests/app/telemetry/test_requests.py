from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.telemetry.metrics import OWN
from app.telemetry.requests import stage


def times(name: str) -> float:
    return OWN.get_sample_value("tessera_stage_duration_seconds_count", {"stage": name}) or 0.0


def test_a_stage_that_fails_is_timed_as_well():
    before = times("draw")
    with pytest.raises(ValueError, match="broken"), stage("draw"):
        raise ValueError("broken")
    assert times("draw") == before + 1


STAGES = (
    "decode", "embed_photo", "embed_text", "search", "store", "draw", "caption", "support",
    "caption_regions", "ground",
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "passed"),
    [
        ("/search/image", {"text": "red"}, {"embed_text", "search"}),
        ("/search/image", {"id": "a"}, {"search"}),
        ("/align", {"text": "red", "id": "a"}, {"decode", "embed_text", "search", "draw"}),
        ("/caption", {"id": "a"}, {"decode", "caption", "support"}),
        ("/ground", {"text": "left", "id": "a"}, {"decode", "ground", "embed_text", "draw"}),
    ],
)
def test_each_stage_of_a_request_is_timed(client: TestClient, png, path: str, body, passed):
    client.put("/items/a", files={"image": png("red")})
    before = {name: times(name) for name in STAGES}
    kind = "image/svg+xml" if "draw" in passed else "application/json"
    answer = client.post(path, json=body, headers={"accept": kind})
    assert answer.status_code == 200
    assert {name for name in STAGES if times(name) > before[name]} == passed


def test_the_stages_of_captions_of_an_upload_are_timed(describing, settings, png):
    with TestClient(create_app(settings, describing)) as client:
        before = {name: times(name) for name in STAGES}
        form = {"regions": "2"}
        assert client.post("/caption", files={"image": png("red")}, data=form).status_code == 200
    passed = {name for name, count in before.items() if times(name) > count}
    assert passed == {"decode", "embed_photo", "caption", "support", "caption_regions"}


def test_the_stages_of_an_upload_are_timed(client: TestClient, png):
    before = {name: times(name) for name in (*STAGES, "wait")}
    client.put("/items/a", files={"image": png("red")}, data={"sentences": "red"})
    passed = {name for name, count in before.items() if times(name) > count}
    assert passed == {"wait", "decode", "embed_photo", "embed_text", "store"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/items/a", {"metadata": {"year": 2020}}),
        ("DELETE", "/items/a", None),
        ("POST", "/items/delete", {"ids": ["a"]}),
    ],
)
def test_the_stages_of_an_edit_are_timed(client: TestClient, method: str, path: str, body):
    client.put("/items/a", json={"sentences": ["red"]})
    before = {name: times(name) for name in (*STAGES, "wait")}
    assert client.request(method, path, json=body).is_success
    assert {name for name, count in before.items() if times(name) > count} == {"wait", "store"}
