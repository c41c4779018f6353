"""Hostile texts are answered with a remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.http.headers import negotiate, parse
from app.imports.tables.table import open_table
from index.documents.analysis import analyze
from tests.hostile import seconds

SIGNS = "a " + "%" * 7900
BODIES: dict[str, dict[str, Any]] = {
    "/search/image": {"text": SIGNS},
    "/search/text": {"phrases": [{"text": "%" * 160}] * 50},
    "/search/products": {"text": "1," * 500},
    "/align": {"id": "red", "text": SIGNS},
    "/ground": {"id": "red", "text": "a dog", "phrases": ["a dog " * 200] * 50},
}


@pytest.fixture
def stored(client: TestClient, png: Any) -> TestClient:
    client.put("/items/red", files={"image": png("red")})
    return client


@pytest.mark.parametrize("path", BODIES)
def test_a_text_over_a_limit_names_it(stored: TestClient, path: str) -> None:
    answer = stored.post(path, json=BODIES[path])
    assert answer.status_code == 422
    assert "at most" in answer.json()["detail"]


def test_a_sentence_of_an_item_and_of_an_import_over_a_limit_is_refused(client: TestClient) -> None:
    answer = client.put("/items/a", json={"sentences": [SIGNS]})
    assert (answer.status_code, "at most 600" in answer.json()["detail"]) == (422, True)
    lines = [{"id": "a", "sentences": [SIGNS]}, {"id": "b", "sentences": ["a dog"]}]
    sent = "\n".join(map(json.dumps, lines))
    kind = {"Content-Type": "application/x-ndjson"}
    statuses = [
        json.loads(line)
        for line in client.post("/items", content=sent, headers=kind).text.splitlines()
    ]
    assert [status["status"] for status in statuses] == ["refused", "stored"]


def test_a_long_description_is_stored(client: TestClient) -> None:
    about = "A dog runs over green grass, and a boy laughs. " * 170
    sent = {"sentences": ["a dog"], "metadata": {"description": about}}
    assert client.put("/items/a", json=sent).status_code == 201


def test_a_query_of_too_many_negated_phrases_is_refused(client: TestClient) -> None:
    sent = [{"text": "no dog, no cat, no cow"}] * 40
    answer = client.post("/search/image", json={"phrases": sent})
    assert (answer.status_code, "at most 100" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    "number", ["9" * 5000, "1e999", "-1e999", "0." + "1" * 5000, "1" + "0" * 4000]
)
def test_a_number_without_measure_is_no_bug(client: TestClient, number: str) -> None:
    bodies = {
        "/search/image": f'{{"text": "a", "filter": {{"price": {number}}}}}',
        "/search/products": f'{{"text": "a", "boosts": [{{"weight": {number}, "key": "a"}}]}}',
    }
    for path, body in bodies.items():
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 422), answer.text
    body = f'{{"sentences": ["a dog"], "metadata": {{"price": {number}}}}}'
    headers = {"Content-Type": "application/json"}
    assert client.put("/items/a", content=body, headers=headers).status_code in (200, 201, 422)
    assert client.get("/items", params={"filter": f'{{"a": {number}}}'}).status_code in (200, 422)
    assert client.get("/items", params={"limit": number}).status_code == 422


def test_a_long_header_is_refused(client: TestClient) -> None:
    answer = client.get("/items", headers={"Cookie": 'a="' + "\\" * 17_000})
    assert answer.status_code == 431
    assert "cookie has" in answer.json()["detail"]


def test_spaces_in_accept_cost_nothing() -> None:
    header = "image/png" + " " * 60_000 + ";q=1"
    assert seconds(lambda: negotiate(header, ["application/json", "image/png"])) < 2
    assert negotiate(" image/png ; q=1", ["application/json", "image/png"]) == "image/png"


def test_spaces_between_tags_cost_nothing() -> None:
    header = '"a",' + " " * 16_000 + "x"
    assert seconds(lambda: parse("If-None-Match", header)) < 1
    assert parse("If-Match", '  "a" ,\t W/"b"').strong == {"a"}


@pytest.mark.parametrize(
    "text", [",".join(map(str, range(100_000, 108_000))), "1,234." * 9_000, "no " + "ab " * 20_000]
)
def test_a_stored_text_costs_by_its_length(text: str) -> None:
    assert seconds(lambda: analyze(text)) < 2
    assert sum(len(part) for spelling in analyze(text).spellings for part in spelling) < len(text)


def test_a_cell_nested_without_end_is_a_text(tmp_path: Any) -> None:
    table = tmp_path / "shop.csv"
    table.write_text("id,captions\na," + "[" * 50_000 + "\n")
    with open_table(table, {}) as read:
        (source,) = read.sources()
    assert source.id == "a"  # type: ignore[union-attr]
