"""Too deep metadata is refused everywhere, and breaks no page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.imports.folder import find
from app.imports.storing import import_sources
from app.imports.tables.table import open_table
from index.database.tables import items
from index.metadata import DEEPEST

LINES = {"content-type": "application/x-ndjson"}


def nested(depth: int) -> str:
    """The text of a list of a depth."""
    return "[" * (depth - 1) + "]" * (depth - 1)


def item(depth: int) -> str:
    return f'{{"id": "x", "sentences": ["red"], "metadata": {{"k": {nested(depth)}}}}}'


def put(client: TestClient, depth: int) -> tuple[bool, str]:
    answer = client.put("/items/x", json={"sentences": ["red"]} | fields(depth))
    return answer.is_success, answer.text


def put_form(client: TestClient, depth: int) -> tuple[bool, str]:
    form = {"metadata": (None, json.dumps(fields(depth)["metadata"])), "sentences": (None, "red")}
    answer = client.put("/items/x", files=form)
    return answer.is_success, answer.text


def patch(client: TestClient, depth: int) -> tuple[bool, str]:
    """A patch to merge a part into present metadata."""
    half = depth // 2
    for part in (half, depth):
        value: Any = {}
        for _ in range(part - 2):
            value = {"k": value}
        client.put("/items/x", json={"sentences": ["red"]})
        answer = client.patch("/items/x", json={"metadata": {"k": value}})
    return answer.is_success, answer.text


def send_line(client: TestClient, depth: int) -> tuple[bool, str]:
    status = client.post("/items", content=item(depth), headers=LINES).json()
    return status["status"] == "stored", status.get("reason", "")


def fields(depth: int) -> dict[str, Any]:
    return {"metadata": {"k": json.loads(nested(depth))}}


@pytest.mark.parametrize("send", [put, put_form, patch, send_line])
def test_clients_may_send_so_deep_and_no_deeper(client: TestClient, send: Any) -> None:
    stored, text = send(client, DEEPEST)
    assert stored, text
    stored, text = send(client, DEEPEST + 1)
    assert not stored
    assert "metadata: 'k' has lists and objects more than 50 deep" in text


def test_lists_have_so_many_values_and_no_more(client: TestClient) -> None:
    most = {"metadata": {"a": list(range(5_000)), "b": list(range(5_000))}}
    assert client.put("/items/x", json={"sentences": ["red"]} | most).is_success
    reason = "its lists have 10,001 values; 10,000 at most are stored"
    for metadata in ({"c": [1]}, {"a": list(range(5_001))}):
        assert reason in client.patch("/items/x", json={"metadata": metadata}).text
    line = {"id": "y", "sentences": ["red"], "metadata": {"a": list(range(10_001))}}
    assert client.post("/items", content=json.dumps(line), headers=LINES).json()["reason"] == (
        f"metadata: {reason}"
    )
    assert client.patch("/items/x", json={"stamp": "1"}).is_success


def test_a_filter_of_many_empty_filters_is_refused_everywhere(client: TestClient) -> None:
    where = {"$or": [{}] * 1_000}
    client.put("/items/x", json={"sentences": ["red"]})
    paths = ("/search/image", "/search/text", "/search/products")
    answers = [client.post(path, json={"text": "red", "filter": where}) for path in paths]
    answers.append(client.post("/items/delete", json={"filter": where, "dry_run": True}))
    answers.append(client.get("/items", params={"filter": json.dumps(where)}))
    assert {answer.status_code for answer in answers} == {422}
    assert "up to 64 conditions" in answers[-1].json()["detail"]


@pytest.mark.parametrize("depth", [200, 5_000])
def test_a_body_that_is_far_too_deep_is_refused(client: TestClient, depth: int) -> None:
    headers = {"content-type": "application/json"}
    for path in ("/search/image", "/search/products", "/items/delete"):
        sent = f'{{"text": "red", "filter": {{"k": {nested(depth)}}}}}'
        assert client.post(path, content=sent, headers=headers).status_code == 422
    assert client.put("/items/x", content=item(depth), headers=headers).status_code == 422
    assert client.get("/items", params={"filter": f'{{"k": {nested(depth)}}}'}).status_code == 422


@pytest.mark.parametrize("depth", [DEEPEST + 1, 300, 5_000])
def test_lines_of_files_may_be_no_deeper(engine: Engine, tmp_path: Path, depth: int) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(f'{item(depth)}\n{{"id": "y", "sentences": ["red"]}}\n')
    outcomes = [*import_sources(engine, "default", find([file]), batch=2, most_bytes=10**6)]
    assert {outcome.status for outcome in outcomes} == {"refused", "stored"}
    rows = tmp_path / "rows.jsonl"
    rows.write_text(f'{{"id": "a", "title": "red"}}\n{{"id": "b", "k": {nested(depth)}}}\n')
    with open_table(rows, {}) as table:
        outcomes = [*import_sources(engine, "default", table.sources(), batch=2, most_bytes=10**6)]
    assert [outcome.status for outcome in outcomes] == ["refused", "stored"]
    assert "more than 50 deep" in outcomes[0].reason


@pytest.fixture
def damaged(client: TestClient, engine: Engine) -> TestClient:
    """A service with an old item, a damaged and a whole one."""
    for name in ("broken", "deep", "whole"):
        fields = {"sentences": ["red"], "metadata": {"title": "red", "colour": name}}
        assert client.put(f"/items/{name}", json=fields).is_success
    stored = {"deep": f'{{"title": "red", "k": {nested(300)}}}', "broken": '{"title": "re'}
    with engine.catalog.writer.begin() as connection:
        for name, text in stored.items():
            connection.execute(
                update(items).where(items.c.id == name).values(metadata=text, checksums=None)
            )
    return client


def test_items_that_are_too_deep_are_listed_with_a_note_and_damaged_ones_are_named(
    damaged: TestClient,
) -> None:
    answer = damaged.get("/items").json()
    assert answer["damaged"] == ["broken"]
    deep, whole = answer["items"]
    assert (deep["id"], whole["id"], whole["notes"]) == ("deep", "whole", [])
    assert "more than 50 deep" in deep["notes"][0]
    assert deep["metadata"]["title"] == "red"
    assert damaged.get("/items/deep").json() == deep | {"original": False}


@pytest.mark.parametrize("path", ["/search/text", "/search/products"])
def test_they_are_found_with_a_note(damaged: TestClient, path: str) -> None:
    answer = damaged.post(path, json={"text": "red"})
    assert answer.status_code == 200, answer.text
    assert "whole" in [hit["id"] for hit in answer.json()["hits"]]
    notes = " ".join(answer.json()["query"]["notes"])
    assert "item 'deep': its metadata is more than 50 deep" in notes


def test_searches_after_a_start_name_what_they_leave_out(damaged: TestClient) -> None:
    for asked in ({"text": "red"}, {"facets": ["colour"]}):
        answer = damaged.post("/search/products", json=asked).json()
        assert answer["damaged"] == ["broken"]
        assert answer["total"] == 2


def test_a_patch_keeps_what_is_too_deep_as_a_text(damaged: TestClient) -> None:
    before = damaged.get("/items/deep").json()["metadata"]
    answer = damaged.patch("/items/deep", json={"metadata": {"n": 1}})
    assert answer.json()["metadata"] == before | {"n": 1}
    assert answer.json()["notes"] == []


def test_a_patch_cannot_merge_with_what_is_damaged(damaged: TestClient) -> None:
    answer = damaged.patch("/items/broken", json={"metadata": {"n": 1}})
    assert answer.status_code == 422
    assert "put it again, or send null as its metadata" in answer.json()["detail"]
    assert damaged.patch("/items/broken", json={"metadata": None}).json()["metadata"] == {}
