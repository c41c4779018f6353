"""Faults of a body in a sentence: place, value, and remedy."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.http.openapi import JSON_IN_FORMS
from app.schemas.explain import CaptionRequest, GroundRequest
from app.schemas.items import ImportLine, ItemBody, ItemPatch
from app.schemas.products import ProductSearch
from app.schemas.regions import RegionSearch
from app.schemas.search import ImageSearch, TextSearch
from app.validation import quote_example, read_fields, read_json

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
            "metadata, sentences (a list), image_url, images (a list), read_metadata, stamp",
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


@pytest.mark.parametrize(
    ("model", "sent", "detail"),
    [
        (ProductSearch, {"limit": True}, "limit: Input should be a valid integer, got true"),
        (ProductSearch, {"limit": "3"}, 'limit: Input should be a valid integer, got "3"'),
        (
            ProductSearch,
            {"limit": 3.5},
            "limit: Input should be a valid integer, got 3.5",
        ),
        (ImageSearch, {"min_probability": True}, "min_probability: Input should be a valid number"),
        (
            ImageSearch,
            {"box": [True, 0, 1, "1"]},
            "box.0: Input should be a valid number, got true",
        ),
        (ImageSearch, {"exact": 1}, "exact: Input should be a valid boolean, got 1"),
        (ImageSearch, {"exact": "no"}, 'exact: Input should be a valid boolean, got "no"'),
        (ProductSearch, {"weights": {"words": "1"}}, "weights.words: Input should be a valid"),
        (
            ProductSearch,
            {"fields": {"title": True}},
            "fields.title: Input should be a valid number",
        ),
        (ItemPatch, {"images": [True]}, "images.0: Input should be a valid integer or a valid"),
        (CaptionRequest, {"beam": "5"}, "beam: Input should be a valid integer"),
    ],
)
def test_in_json_a_number_is_no_text_and_no_truth(model: Any, sent: Any, detail: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(detail)}"):
        read_json(model, json.dumps(sent).encode())


@pytest.mark.parametrize(
    "model", [GroundRequest, ImageSearch, TextSearch, RegionSearch, ProductSearch, ItemBody]
)
def test_every_field_of_json_in_forms_has_an_example(model: Any) -> None:
    for name in set(JSON_IN_FORMS) & set(model.model_fields):
        example = quote_example(model, (name,)).removeprefix(", such as ")
        query = {"text": "a dog and a log"} if "text" in model.model_fields else {}
        read_fields(model, {**query, name: json.loads(example)}, [name])


@pytest.mark.parametrize(
    ("path", "form", "detail"),
    [
        ("/ground", {"phrases": "a pink dress"}, 'char 0)), such as ["a dog", "a log"]'),
        ("/search/products", {"weights": "2"}, 'an object, such as {"words": 1, "looks": 0.5}'),
        ("/search/products", {"weights": "words"}, 'char 0)), such as {"words": 1, "looks": 0.5}'),
        ("/items?filter=colour", {}, 'char 0)), such as {"colour": ["red", "blue"]}'),
    ],
)
def test_json_of_forms_and_addresses_is_taught_by_example(
    client: TestClient, png: Callable[..., bytes], path: str, form: dict[str, str], detail: str
) -> None:
    if form:
        answer = client.post(path, data={"text": "red"} | form, files={"image": png("red")})
    else:
        answer = client.get(path)
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith(detail)


def test_an_unknown_field_is_told_of_the_file_of_a_form(
    client: TestClient, png: Callable[..., bytes]
) -> None:
    files = {"image": png("red")}
    answer = client.post("/caption", data={"imaeg": "x"}, files=files)
    assert answer.json()["detail"].startswith(
        "imaeg: there is no such field; the nearest one is 'image'; there are collection, id, "
        "photo, beam, count, temperature, seed, max_words, regions, image (a file of a form)"
    )
    sent = client.post("/caption", json={"image": "aGVsbG8="}).json()["detail"]
    assert sent == "image: send it as a file of a form (multipart/form-data)"


def test_numbers_are_written_in_several_ways() -> None:
    read = read_json(ProductSearch, b'{"limit": 3.0, "min_probability": 1, "photo": 1e0}')
    assert (read.limit, read.min_probability, read.photo) == (3, 1.0, 1)


def test_an_integer_may_have_a_point_and_noughts_wherever_it_stands() -> None:
    read = read_json(ProductSearch, b'{"facets": ["a", {"key": "p", "limit": 5.0}]}')
    assert read.facets[1].limit == 5
    assert read_json(ItemPatch, b'{"images": [1.0, "aGVsbG8="]}').images == [1, "aGVsbG8="]
    caption = b'{"beam": 2.0, "count": 1.0, "seed": 7.0, "max_words": 9.0, "regions": 1e1}'
    sent = read_json(CaptionRequest, caption)
    assert (sent.beam, sent.count, sent.seed, sent.max_words, sent.regions) == (2, 1, 7, 9, 10)
    with pytest.raises(ValueError, match=r"^bax: there is no such field(?!.*limit: )"):
        read_json(ProductSearch, b'{"limit": 3.0, "bax": 1}')
    for wrong in (b"true", b'"5"', b"5.5", b"1e999"):
        with pytest.raises(ValueError, match=r"^facets\.0\.limit: "):
            read_json(ProductSearch, b'{"facets": [{"key": "p", "limit": %b}]}' % wrong)


def test_fields_of_forms_and_of_addresses_are_numbers_as_texts(
    client: TestClient, png: Callable[..., bytes]
) -> None:
    sent = {"limit": "3", "exact": "true", "box": "0,0,1,1"}
    answer = client.post("/search/image", data=sent, files={"image": png("red")})
    assert answer.status_code in (200, 404)
    assert client.get("/suggest?text=a&limit=3").status_code in (200, 404)


@pytest.mark.parametrize(
    ("field", "sent", "detail"),
    [
        ("facets", '[{"key": "p", "limit": "5"}]', "facets.0.limit: Input should be a valid int"),
        ("weights", '{"words": "1"}', 'weights.words: Input should be a valid number, got "1"'),
        ("fields", '{"title": true}', "fields.title: Input should be a valid number, got true"),
        ("boosts", '[{"key": "p", "weight": "0.5"}]', "boosts.0.weight: Input should be a valid"),
        ("sort", '{"key": 3}', "sort.key: Input should be a valid string"),
        ("sort", "{}", "sort.key: Field required"),
    ],
)
def test_json_in_a_form_is_read_as_in_a_body(
    client: TestClient, png: Callable[..., bytes], field: str, sent: str, detail: str
) -> None:
    form = client.post("/search/products", data={field: sent}, files={"image": png("red")})
    body = client.post("/search/products", content=f'{{"{field}": {sent}}}', headers=JSON)
    assert (form.status_code, body.status_code) == (422, 422)
    assert form.json()["detail"] == body.json()["detail"]
    assert form.json()["detail"].startswith(detail)


def test_json_in_a_form_has_integers_with_a_point() -> None:
    fields = {"limit": "3", "facets": [{"key": "p", "limit": 5.0}], "sort": None}
    read = read_fields(ProductSearch, fields, ("facets", "sort", "phrases", "unknown"))
    assert (read.limit, read.facets[0].limit) == (3, 5)


def test_a_body_with_too_much_text_is_not_looked_through_for_keys(client, monkeypatch) -> None:
    monkeypatch.setattr("app.validation.check_keys", lambda data: pytest.fail("parsed again"))
    item = {"metadata": {"about": "x" * 100_000}, "sentences": ["red"]}
    assert client.put("/items/a", json=item).status_code == 413
    line = client.post("/items", content=json.dumps({"id": "a", **item}), headers=LINES)
    assert "at most are read" in json.loads(line.text)["reason"]


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ('{"text": "a", "text": "b"}', "text"),
        ('{"filter": {"price": {"gt": 1, "gt": 2}}}', "gt"),
        ('{"filter": {"$or": [{"a": 1, "a": 1}]}, "limit": 3.0}', "a"),
        ('{"text": "a", "\\u0074ext": "b"}', "text"),
    ],
)
def test_a_key_that_an_object_has_twice_is_named(client: TestClient, body: str, key: str) -> None:
    answer = client.post("/search/products", content=body, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["detail"] == f"the key '{key}' is there twice in one object; send it once"


def test_a_key_twice_refuses_a_line_of_an_import_and_a_field_of_a_form(
    client: TestClient, png: Callable[..., bytes]
) -> None:
    lines = '{"id": "a", "metadata": {"b": 1, "b": 2}}\n{"id": "c", "sentences": ["red"]}'
    answer = client.post("/items", content=lines, headers=LINES)
    first, second = (json.loads(line) for line in answer.text.splitlines())
    assert (first["id"], first["status"], second["status"]) == ("a", "refused", "stored")
    assert "the key 'b' is there twice" in first["reason"]
    form = {"metadata": '{"b": 1, "b": 2}'}
    put = client.put("/items/d", files={"image": png("red")}, data=form)
    assert (
        put.json()["detail"] == "metadata: the key 'b' is there twice in one object; send it once"
    )
    assert "filter: the key" in client.get('/items?filter={"b":1,"b":2}').json()["detail"]


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
