"""Thumbnails: small copies of photos at addresses for good."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.engine.engine import Engine


@pytest.fixture
def wide() -> Callable[[str], bytes]:
    def draw(colour: str) -> bytes:
        file = BytesIO()
        Image.new("RGB", (800, 450), colour).save(file, "PNG")
        return file.getvalue()

    return draw


def put(client: TestClient, photo: bytes) -> dict:
    answer = client.put("/items/a", files={"image": photo}, data={"sentences": "a red wall"})
    assert answer.is_success, answer.text
    return answer.json()


def size_of(content: bytes) -> tuple[str, tuple[int, int]]:
    image = Image.open(BytesIO(content))
    return image.format, image.size


@pytest.mark.parametrize(("size", "shape"), [("small", (320, 180)), ("medium", (640, 360))])
def test_thumbnails_have_two_sizes_and_are_kept_for_good(
    client: TestClient, wide: Callable[[str], bytes], size: str, shape: tuple[int, int]
) -> None:
    address = put(client, wide("red"))["thumbnail"].replace("size=small", f"size={size}")
    answer = client.get(address)
    assert answer.headers["content-type"] == "image/webp"
    assert size_of(answer.content) == ("WEBP", shape)
    assert "immutable" in answer.headers["cache-control"]
    assert client.get(address).content == answer.content
    known = {"If-None-Match": answer.headers["etag"]}
    assert client.get(address, headers=known).status_code == 304


def test_small_photo_is_not_enlarged(client: TestClient, png: Callable[..., bytes]) -> None:
    item = put(client, png("red"))
    content = client.get(item["thumbnail"]).content
    assert size_of(content) == ("WEBP", (item["width"], item["height"]))


def test_replaced_photo_has_another_address(
    client: TestClient, wide: Callable[[str], bytes]
) -> None:
    first, second = (put(client, wide(colour))["thumbnail"] for colour in ("red", "blue"))
    assert first != second
    former, newer = client.get(first), client.get(second)
    assert former.content == newer.content  # of what there is now, so not to be kept
    assert former.headers["cache-control"] == "private, no-cache"
    assert "immutable" in newer.headers["cache-control"]


def test_thumbnail_of_a_deleted_item_is_gone(
    client: TestClient, wide: Callable[[str], bytes]
) -> None:
    address = put(client, wide("red"))["thumbnail"]
    assert client.get(address).status_code == 200
    client.delete("/items/a")
    assert client.get(address).status_code == 404


def test_thumbnails_are_made_once(
    client: TestClient,
    engine: Engine,
    wide: Callable[[str], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = put(client, wide("red"))["thumbnail"]
    made = client.get(address).content
    monkeypatch.setattr(type(engine.catalog), "picture", pytest.fail)
    assert client.get(address).content == made


def test_unknown_size_is_refused(client: TestClient, wide: Callable[[str], bytes]) -> None:
    put(client, wide("red"))
    answer = client.get("/items/a/image?size=large")
    assert answer.status_code == 422
    assert "small" in answer.text
    assert client.get("/items/a/image?size=small").headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("route", ["/search/image", "/search/text", "/search/products"])
def test_hits_have_thumbnails(client: TestClient, wide: Callable[[str], bytes], route: str) -> None:
    address = put(client, wide("red"))["thumbnail"]
    hits = client.post(route, json={"text": "red"}).json()["hits"]
    assert [hit["thumbnail"] for hit in hits] == [address]
    assert client.get("/items").json()["items"][0]["thumbnail"] == address
