"""Each mistake of a client gets a helpful problem document."""

from __future__ import annotations

import errno
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from index.items import NoSpace

Png = Callable[..., bytes]
SEARCH = "/search/image"


def huge_png() -> bytes:
    """A PNG with 50,000 × 50,000 pixels in its head alone."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0"))


def check(answer: Any, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "instance"}
    assert problem["status"] == status
    for word in words:
        assert word in problem["detail"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": ""}, ["no words"]),
        ({"text": "  ?! "}, ["no words"]),
        ({"text": "word " * 10_000}, ["10,000 words", "at most"]),
        ({}, ["send one of text, phrases, id or image, or", "got none"]),
        ({"text": "red", "id": "x"}, ["got text and id"]),
        ({"phrases": []}, ["phrases: List should have at least 1 item"]),
        ({"phrases": [{"text": "red", "weight": 0}]}, ["phrases.0.weight", "greater than 0"]),
        ({"phrases": [{"text": "red", "weight": 11}]}, ["less than or equal to 10"]),
        ({"text": "red", "limit": 0}, ["limit", "greater than or equal to 1"]),
        ({"text": "red", "limit": 101}, ["limit", "less than or equal to 100"]),
        (
            {"text": "red", "colour": "red"},
            ["colour: there is no such field; there are collection, text"],
        ),
        ({"text": "red", "cursor": "%%%"}, ["cursor: not one that this service gave"]),
        ({"text": "red", "cursor": "bnVsbA=="}, ["cursor: not one that this service gave"]),
        ({"text": "red", "filter": {"": 1}}, ["filter"]),
        ({"text": "red", "filter": {"a": {"b": 1}}}, ["filter 'a' takes gt", "got 'b'"]),
        ({"text": "red", "box": [0, 0, 1, 1]}, ["send an id or an image with it"]),
        ({"text": 7}, ["text: Input should be a valid string"]),
    ],
)
def test_invalid_search_says_what_is_wrong(
    client: TestClient, body: dict[str, Any], words: list[str]
) -> None:
    check(client.post(SEARCH, json=body), 422, *words)


@pytest.mark.parametrize("weight", ["NaN", "Infinity", "-1"])
def test_weight_that_is_no_amount_is_refused(client: TestClient, weight: str) -> None:
    body = f'{{"phrases": [{{"text": "red", "weight": {weight}}}]}}'
    json = {"content-type": "application/json"}
    check(client.post(SEARCH, content=body, headers=json), 422, "weight")


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"\xff\xfe", b"", b'{"text": "\\ud800"}', b"[" * 9999]
)
def test_broken_json_is_refused(client: TestClient, body: bytes) -> None:
    json = {"content-type": "application/json"}
    check(client.post(SEARCH, content=body, headers=json), 422)


@pytest.mark.parametrize(
    ("data", "status", "words"),
    [
        (b"hello", 415, ["not an image", "JPEG, PNG"]),
        (b"", 415, ["the file is empty"]),
        (huge_png(), 413, ["pixels", "scale it down"]),
        (b"x" * 200_001, 413, ["200,001 bytes", "at most 200,000"]),
        (b"x" * 400_000, 413, ["request body", "bytes that are read"]),
    ],
    ids=["text", "empty", "huge", "long", "longer"],
)
@pytest.mark.parametrize("path", [SEARCH, "/search/text", "/caption", "/align"])
def test_unusable_image_is_refused(
    client: TestClient, path: str, data: bytes, status: int, words: list[str]
) -> None:
    form = {"text": "red"} if path == "/align" else {}
    check(client.post(path, files={"image": data}, data=form), status, *words)


def test_truncated_jpeg_is_named(client: TestClient, png: Png) -> None:
    whole = png("red", "blue", size=(200, 200), form="JPEG")
    answer = client.post(SEARCH, files={"image": whole[: len(whole) // 2]})
    check(answer, 422, "JPEG", "truncated", "send a complete file")


def test_body_is_bounded_without_a_declared_length(client: TestClient) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * 10_000

    json = {"content-type": "application/json"}
    check(client.post(SEARCH, content=chunks(), headers=json), 413, "100,000 bytes")


def test_body_of_another_kind_is_refused(client: TestClient) -> None:
    text = {"content-type": "text/plain"}
    check(client.post(SEARCH, content=b"red", headers=text), 415, "application/json")
    check(client.post(SEARCH), 415, "no stated type")
    form = {"content-type": "multipart/form-data"}
    check(client.post(SEARCH, content=b"red", headers=form), 422, "the form cannot be read")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/collections/shop"),
        ("GET", "/items"),
        ("DELETE", "/items/a"),
        ("POST", "/snapshots"),
    ],
)
def test_body_that_would_be_passed_over_is_refused(
    client: TestClient, method: str, path: str
) -> None:
    client.put("/items/a", json={"sentences": ["red"]})
    for content in (b'{"language": "de"}', iter([b"", b'["de"', b"]"]), b"[]"):
        json = {"content-type": "application/json"}
        answer = client.request(method, path, content=content, headers=json)
        check(answer, 422, f"{method} {path} takes no body")
    assert client.get("/collections/shop").status_code == 404
    assert client.get("/items/a").status_code == 200
    for empty in (b"", b"{}", b" {}\n", b"null", iter([b"{", b"}"]), iter([])):
        answer = client.request(method, path, content=empty, headers=json)
        assert answer.status_code < 300, answer.text
        client.put("/items/a", json={"sentences": ["red"]})


@pytest.mark.parametrize(
    ("method", "path", "takes"),
    [
        ("DELETE", "/items/a?colection=b", "it takes collection"),
        ("PUT", "/items/a?collection=b", "it takes none; send it as a field of the body"),
        ("POST", "/items/delete?colection=b", "it takes none"),
        ("POST", "/items/delete?collection=b", "it takes none; send it as a field of the body"),
        ("POST", "/items/delete?dry_run=true", "it takes none; send it as a field of the body"),
        ("POST", f"{SEARCH}?collection=b", "it takes none; send it as a field of the body"),
        ("GET", "/items?page=2", "it takes collection, cursor, filter, limit"),
    ],
)
def test_parameter_of_another_name_never_means_the_default(
    client: TestClient, method: str, path: str, takes: str
) -> None:
    client.put("/items/a", json={"sentences": ["red"]})
    answer = client.request(method, path)
    check(answer, 422, "is no parameter of this address", takes)
    assert answer.json()["detail"].endswith(takes)
    assert client.get("/items/a").status_code == 200


def test_a_parameter_that_is_given_twice_is_refused(client: TestClient) -> None:
    check(client.get("/items?limit=1&limit=2"), 422, "'limit' is given more than once", "")


@pytest.mark.parametrize("end", [b"", b"--whole", b"--whole-"])
def test_form_that_breaks_off_changes_nothing(client: TestClient, png: Png, end: bytes) -> None:
    """Its last part would be lost: here the photo."""
    form = {"content-type": "multipart/form-data; boundary=whole"}
    part = b'--whole\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'
    body = part % (b"sentences", b"", b"red")
    body += part % (b"image", b'; filename="a.png"', png("red"))
    assert client.put("/items/a", content=body + b"--whole--", headers=form).status_code == 201
    before = client.get("/items/a").json()
    check(client.put("/items/a", content=body + end, headers=form), 422, "breaks off")
    check(client.post(SEARCH, content=body + end, headers=form), 422, "breaks off")
    assert client.get("/items/a").json() == before


def test_unknown_things_are_not_found(client: TestClient) -> None:
    client.put("/items/a", json={"sentences": ["red"]})
    check(client.get("/items/b"), 404, "no item 'b'")
    check(client.delete("/items/b"), 404, "no item 'b'")
    check(client.get("/items/b/image"), 404, "no item 'b'")
    check(client.get("/items/a/image"), 404, "no picture")
    check(client.post("/align", json={"id": "b", "text": "red"}), 404, "no item 'b'")
    check(client.post(SEARCH, json={"id": "b"}), 404, "no item 'b'")
    check(client.get("/items?collection=c"), 404, "no collection 'c'; there are: default")
    check(client.post(SEARCH, json={"text": "a", "collection": "c"}), 404, "no collection 'c'")
    check(client.get("/nothing"), 404, "/docs")
    check(client.get("/../../etc/passwd"), 404)
    check(client.get("/%2e%2e/%2e%2e/etc/passwd"), 404)
    check(client.get("/items/a/b/c"), 404, "/docs")
    check(client.get(SEARCH), 405, "GET is not allowed")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"metadata": "[]"}, "metadata"),
        ({"metadata": "{"}, "metadata: not valid JSON"),
        ({"metadata": '{"a": NaN}'}, "metadata"),
        ({"sentences": "?!"}, "no words"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_unusable_item_is_refused(client: TestClient, fields: dict[str, str], words: str) -> None:
    answer = client.put("/items/a", files={name: (None, text) for name, text in fields.items()})
    check(answer, 422, words)
    check(client.put("/items/a", json={}), 422, "neither a picture nor a sentence")
    check(client.get("/items/a"), 404)


def test_id_must_be_unicode_and_short(client: TestClient) -> None:
    check(client.put("/items/%00", json={"sentences": ["red"]}), 422, "NUL and halves")
    check(client.put("/items/%FF", json={"sentences": ["red"]}), 422)
    check(client.put(f"/items/{'x' * 1_025}", json={"sentences": ["red"]}), 422, "1 to 1,024")


def test_collection_of_another_model_is_a_conflict(client: TestClient, engine: Engine) -> None:
    engine.catalog.names.make("old", fingerprint="0" * 16, dimension=3, score="sum_of_max")
    answer = client.post(SEARCH, json={"text": "red", "collection": "old"})
    check(answer, 409, "0" * 16, "tessera index --reembed")


def test_missing_captioner_is_unavailable(client: TestClient, engine: Engine, png: Png) -> None:
    engine.models.captioner = None
    check(client.post("/caption", files={"image": png("red")}), 503, "no captioner is loaded")


def test_missing_grounder_is_unavailable(client: TestClient, engine: Engine, png: Png) -> None:
    engine.models.grounder = None
    answer = client.post("/ground", files={"image": png("red")}, data={"text": "red"})
    check(answer, 503, "no grounder is loaded")


def test_our_own_failure_tells_nothing_of_what_broke(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for broken in (KeyError("secret"), IndexError("secret"), RuntimeError("secret")):
        monkeypatch.setattr(engine.catalog.names, "all", lambda e=broken: (_ for _ in ()).throw(e))
        answer = client.get("/collections")
        check(answer, 500, "its log says why")
        assert "secret" not in answer.text


def test_html_is_not_echoed_as_html(client: TestClient) -> None:
    answer = client.get("/items/%3Cscript%3E")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_full_disk_is_said_on_every_way_to_write(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NoSpace("the disk is full, so nothing was stored; make room, then try again")

    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(engine.catalog, "_store", full)
    monkeypatch.setattr("app.engine.health.try_writing", full)
    put = client.put("/items/a", json={"sentences": ["red"]})
    assert (put.status_code, put.json()["type"]) == (507, "urn:tessera:problem:no-space")
    lines = b'{"id": "a", "sentences": ["red"]}\n{"id": "b", "sentences": ["blue"]}\n'
    headers = {"content-type": "application/x-ndjson"}
    answer = client.post("/items", content=lines, headers=headers)
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["status"] for one in statuses] == ["refused", "refused"]
    assert all("the disk is full" in one["reason"] for one in statuses)
    ready = client.get("/readyz")
    assert ready.status_code == 503
    assert "the disk is full" in ready.json()["detail"]


def test_a_disk_that_is_full_while_an_upload_is_spooled_is_said(
    client: TestClient, png: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("starlette.datastructures.UploadFile.write", full)
    answer = client.put("/items/a", files={"image": png("red")})
    assert (answer.status_code, answer.json()["type"]) == (507, "urn:tessera:problem:no-space")
