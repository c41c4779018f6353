"""What is wrong with a body is said in a sentence: where, what, and what would work."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.mistakes import read_json
from app.schemas.items import ImportLine, ItemBody, ItemPatch
from app.schemas.products import ProductSearch
from app.schemas.search import ImageSearch

BOM = b"\xef\xbb\xbf"
JSON = {"content-type": "application/json"}
LINES = {"content-type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("model", "sent", "detail"),
    [
        (
            ItemBody,
            {"image": "aGVsbG8="},
            "image: there is no such field; the nearest one is 'images'; there are collection, "
            "metadata, sentences (a list), image_url, images (a list), stamp",
        ),
        (
            ImageSearch,
            {"phrases": [{"txt": "red", "text": "red"}]},
            "phrases.0.txt: there is no such field; the nearest one is 'text'; there are text, "
            "weight",
        ),
        (
            ProductSearch,
            {"facets": [{"kee": "price"}]},
            "facets.0.key: Field required; facets.0.kee: there is no such field; the nearest one "
            "is 'key'; there are key, limit, bounds",
        ),
        (ProductSearch, {"facets": [3]}, "facets.0: Input should be a valid string or an object"),
        (
            ItemPatch,
            {"images": [None]},
            "images.0: Input should be a valid integer or a valid string",
        ),
        (ItemPatch, {"images": [-1]}, "images.0: Input should be greater than or equal to 0 or a"),
        (ImageSearch, {"phrases": []}, "phrases: List should have at least 1 item, not 0"),
        (ImageSearch, {"box": [0, 0, 1]}, "box.3: Field required"),
        (ImageSearch, {"filter": []}, 'filter: Input should be an object, such as {"colour": ["'),
        (
            ProductSearch,
            {"sort": "price"},
            'sort: Input should be an object, such as {"key": "price", "order": "asc"}',
        ),
        (ProductSearch, {"sort": {"order": "up", "key": "a"}}, "sort.order: Input should be 'asc'"),
    ],
)
def test_mistake_is_named_by_its_place(model: Any, sent: dict[str, Any], detail: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(detail)}"):
        read_json(model, json.dumps(sent).encode())


def test_answer_to_a_thousand_mistakes_is_short(client: TestClient) -> None:
    answer = client.post("/search/image", json={f"field {n}": n for n in range(1000)})
    assert (answer.status_code, answer.json()["detail"].count("no such field")) == (422, 20)


def test_byte_order_mark_is_no_mistake(client: TestClient) -> None:
    assert read_json(ImportLine, BOM + b'{"id": "a"}').id == "a"
    body = BOM + b'{"sentences": ["red"]}'
    assert client.put("/items/a", content=body, headers=JSON).status_code == 201
    lines = BOM + b'{"id": "b", "sentences": ["red"]}\n{"id": "c", "sentences": ["red"]}\n'
    answer = client.post("/items", content=lines, headers=LINES)
    assert [json.loads(line)["status"] for line in answer.text.splitlines()] == ["stored"] * 2


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/items?filter=x", "filter: not valid JSON (Expecting value"),
        ("/items?filter=[]", 'filter: Input should be an object, such as {"colour": ["'),
        ("/items?collection=", "collection: its name is 1 to 200 printable characters, got ''"),
        ("/collections/%0A", "a collection's name is 1 to 200 printable characters, got '\\n'"),
        ("/items/%ff", "a path is UTF-8, percent-encoded, got '%ff'"),
    ],
)
def test_mistake_in_an_address_is_named(client: TestClient, path: str, detail: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(detail)


def test_long_text_names_both_limits(client: TestClient) -> None:
    answer = client.post("/search/image", json={"text": "a" * 10_000})
    assert "at most 200 words and 8,000 characters" in answer.json()["detail"]


@pytest.mark.parametrize("photos", [0, 1])
def test_text_beside_photos_is_bounded(
    client: TestClient, png: Callable[..., bytes], photos: int
) -> None:
    images = [b64encode(png("red", "blue", size=(60, 50))).decode()] * photos
    item = {"metadata": {"about": "x" * 100_000}, "sentences": ["red"], "images": images}
    reason = "100,000 at most are read"
    put = client.put("/items/a", json=item)
    assert (put.status_code, reason in put.json()["detail"]) == (413, True)
    answer = client.post("/items", content=json.dumps({"id": "a", **item}), headers=LINES)
    status = json.loads(answer.text)
    assert (status["status"], status["id"], reason in status["reason"]) == ("refused", "a", True)


def test_refused_line_has_its_id(client: TestClient) -> None:
    wrong = ['{"id": "a", "stamp": 1}', '{"id": 7}', '[{"id": "b"}]', '{"id": "c"', '{"idd": "d"}']
    answer = client.post("/items", content="\n".join(wrong), headers=LINES)
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [one.get("id") for one in statuses] == ["a", None, None, None, None]
    assert {one["status"] for one in statuses} == {"refused"}
    image = client.post("/items", content='{"id": "e", "image": "zz"}', headers=LINES)
    assert "image: not base64" in json.loads(image.text)["reason"]
