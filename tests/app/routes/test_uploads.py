"""Forms of old and simple clients are read; compressed bodies are refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

Png = Callable[..., bytes]
FORM = {"content-type": "multipart/form-data; boundary=whole"}


def form(*parts: tuple[bytes, bytes]) -> bytes:
    """A form of parts: parameters of the disposition, and content."""
    shape = b"--whole\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n"
    return b"".join(shape % part for part in parts) + b"--whole--"


@pytest.mark.parametrize(
    "name",
    [
        b"filename*=UTF-8''Gr%C3%B6%C3%9Fe.jpg",  # as urllib3 did until 1.25
        b"FileName* = UTF-8''a.jpg",
        b"filename=a.jpg; filename*=UTF-8''b.jpg",
        b'filename=""',
    ],
)
def test_a_file_may_be_named_as_old_clients_do(client: TestClient, png: Png, name: bytes) -> None:
    body = form((b'name="image"; ' + name, png("red")))
    answer = client.put("/items/a", content=body, headers=FORM)
    assert answer.status_code == 201, answer.text
    assert client.get("/items/a/image").status_code == 200


def test_an_input_without_a_file_is_no_photo(client: TestClient, png: Png) -> None:
    empty = (b'name="image"; filename=""', b"")
    sentence = (b'name="sentences"', b"red")
    answer = client.put("/items/a", content=form(empty, sentence), headers=FORM)
    assert (answer.status_code, answer.json()["image"]) == (201, None)
    second = (b'name="images"; filename="b.png"', png("red"))
    answer = client.put("/items/a", content=form(empty, second), headers=FORM)
    assert (answer.status_code, len(answer.json()["images"])) == (200, 1)
    found = client.post(
        "/search/image", content=form(empty, (b'name="text"', b"red")), headers=FORM
    )
    assert found.status_code == 200, found.text


def test_a_named_file_that_is_empty_is_refused(client: TestClient) -> None:
    empty = (b'name="image"; filename="a.jpg"', b"")
    answer = client.put("/items/a", content=form(empty), headers=FORM)
    assert (answer.status_code, answer.headers["content-type"]) == (415, "application/problem+json")


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/search/image", "application/json"),
        ("PUT", "/items/a", "application/json"),
        ("POST", "/items", "application/x-ndjson"),
    ],
)
def test_a_compressed_body_is_refused_as_one(
    client: TestClient, method: str, path: str, kind: str
) -> None:
    body = gzip.compress(json.dumps({"text": "red"}).encode())
    headers = {"content-type": kind, "content-encoding": "gzip"}
    answer = client.request(method, path, content=body, headers=headers)
    assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "identity")
    assert "encoded by 'gzip'" in answer.json()["detail"]


def test_a_body_that_says_it_is_as_it_is_is_read(client: TestClient) -> None:
    headers = {"content-encoding": "identity"}
    sent = client.put("/items/a", json={"sentences": ["red"]}, headers=headers)
    assert sent.status_code == 201
