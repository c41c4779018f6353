"""Items of several photos over HTTP, found by the best."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from random import Random

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.settings import Settings

Png = Callable[..., bytes]
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def shop(client: TestClient, png: Png) -> TestClient:
    photos = [("image", png(colour)) for colour in ("red", "blue", "lime")]
    answer = client.put("/items/many", files=photos, data={"metadata": '{"title": "Boot"}'})
    assert answer.status_code == 201, answer.text
    client.put("/items/blue", files={"image": png("navy")})
    return client


def test_each_photo_has_an_address(shop: TestClient, png: Png) -> None:
    item = shop.get("/items/many").json()
    addresses = ["/items/many/image", "/items/many/image?photo=1", "/items/many/image?photo=2"]
    assert [photo["image"] for photo in item["images"]] == addresses
    assert item["image"] == addresses[0]
    assert len({shop.get(address).content for address in addresses}) == 3
    missing = shop.get("/items/many/image?photo=3")
    assert (missing.status_code, missing.json()["detail"]) == (
        404,
        "item 'many' has no photo 3; its last one is 2",
    )


@pytest.mark.parametrize("asked", [{"text": "blue"}, {"id": "many", "photo": 1}])
def test_hit_is_the_best_photo(shop: TestClient, asked: dict[str, object]) -> None:
    hits = shop.post("/search/image", json=asked).json()["hits"]
    assert [(hit["id"], hit["photo"]) for hit in hits] == [("many", 1), ("blue", 0)]
    assert hits[0]["image"] == "/items/many/image?photo=1"
    for hit in hits:
        assert sum(link["similarity"] for link in hit["links"]) == pytest.approx(hit["score"])


def test_pages_show_each_item_once(shop: TestClient) -> None:
    first = shop.post("/search/image", json={"text": "blue", "limit": 1}).json()
    rest = {"text": "blue", "limit": 1, "cursor": first["cursor"]}
    second = shop.post("/search/image", json=rest).json()
    assert [hit["id"] for hit in first["hits"] + second["hits"]] == ["many", "blue"]
    assert second["cursor"] is None


def test_photos_are_put_in_order_or_taken_away_without_embedding(
    shop: TestClient, engine: Engine, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [shop.get(f"/items/many/image?photo={n}").content for n in range(3)]
    with monkeypatch.context() as patched:
        patched.setattr(engine.models.matcher, "embed_images", pytest.fail)
        assert len(shop.patch("/items/many", json={"images": [2, 0]}).json()["images"]) == 2
    assert [shop.get(f"/items/many/image?photo={n}").content for n in range(2)] == [
        before[2],
        before[0],
    ]
    new = b64encode(png("yellow")).decode()
    assert len(shop.patch("/items/many", json={"images": [0, new]}).json()["images"]) == 2
    found = shop.post("/search/image", json={"text": "yellow"}).json()["hits"][0]
    assert (found["id"], found["photo"]) == ("many", 1)
    assert shop.patch("/items/many", json={"images": []}).status_code == 422


def test_lines_of_an_import_have_several_photos(client: TestClient, png: Png) -> None:
    images = [b64encode(png(colour)).decode() for colour in ("red", "blue")]
    line = json.dumps({"id": "a", "images": images})
    assert json.loads(client.post("/items", content=line, headers=LINES).text)["status"] == "stored"
    assert len(client.get("/items/a").json()["images"]) == 2


def test_one_photo_of_an_item_is_explained(shop: TestClient) -> None:
    sent = {"text": "lime", "id": "many", "photo": 2}
    aligned = shop.post("/align", json=sent).json()
    assert aligned["image"] == "/items/many/image?photo=2"
    assert aligned["score"] > shop.post("/align", json=sent | {"photo": 0}).json()["score"]


@pytest.fixture
def halves(client: TestClient, png: Png) -> TestClient:
    """Photos of two colours, left and right."""
    for name, colours in {
        "red-blue": ("red", "blue"),
        "red-lime": ("red", "lime"),
        "white-blue": ("white", "blue"),
    }.items():
        client.put(f"/items/{name}", files={"image": png(*colours)})
    return client


def test_like_this_but_blue(halves: TestClient) -> None:
    def found(**asked: object) -> list[str]:
        hits = halves.post("/search/image", json=asked).json()["hits"]
        for hit in hits:
            given = sum(link["similarity"] for link in hit["links"])
            assert given == pytest.approx(hit["score"], abs=1e-5)
        return [hit["id"] for hit in hits]

    assert found(id="red-lime", text="blue", photo_weight=0.3)[0] == "red-blue"
    assert found(id="red-blue", text="blue", photo_weight=-1.0)[0] == "white-blue"
    phrases = [{"text": "blue", "weight": 2.0}]
    assert found(id="red-lime", phrases=phrases, photo_weight=0.3)[0] == "red-blue"


def test_a_part_of_a_stored_photo_is_searched_with(halves: TestClient) -> None:
    for box, best in (((0, 0, 0.5, 1), {"red-blue", "red-lime"}), ((0.5, 0, 1, 1), {"red-lime"})):
        asked = {"id": "red-lime", "box": box, "limit": len(best)}
        hits = halves.post("/search/image", json=asked).json()["hits"]
        assert {hit["id"] for hit in hits} == best


@pytest.mark.parametrize(
    ("path", "asked", "reason"),
    [
        ("image", {"text": "red", "id": "red-lime"}, "got text and id, without one"),
        ("image", {"text": "red", "id": "x", "photo_weight": 0}, "id, and photo_weight 0"),
        ("image", {"text": "red", "photo_weight": 1}, "needs a text and a photo"),
        ("image", {"text": "red", "box": [0, 0, 1, 1]}, "send an id or an image with it"),
        ("text", {"text": "red", "id": "red-lime", "photo_weight": 1}, "/search/image takes both"),
        ("products", {"id": "red-lime", "photo_weight": 1}, "needs a text and a photo"),
        ("image", {"id": "red-lime", "photo": 1}, "no photo 1"),
    ],
)
def test_odd_pairs_of_text_and_photo_are_refused(
    halves: TestClient, path: str, asked: dict[str, object], reason: str
) -> None:
    answer = halves.post(f"/search/{path}", json=asked)
    assert answer.status_code in (404, 422)
    assert reason in answer.json()["detail"]


def test_several_photos_may_be_larger_together_than_one(
    client: TestClient, settings: Settings
) -> None:
    heavy = [noise(seed) for seed in range(5)]
    assert settings.upload_bytes < 2 * len(heavy[0]) < settings.item_bytes < 4 * len(heavy[0])

    def form(count: int) -> int:
        photos = [("image", photo) for photo in heavy[:count]]
        return client.put("/items/heavy", files=photos).status_code

    def line(count: int) -> dict[str, object]:
        row = {"id": "line", "images": [b64encode(photo).decode() for photo in heavy[:count]]}
        answer = client.post("/items", content=json.dumps(row), headers=LINES)
        status: dict[str, object] = json.loads(answer.text)
        return status

    assert (form(2), form(5)) == (201, 413)
    assert line(2)["status"] == "stored"
    assert "longer than" in str(line(4)["reason"])


def noise(seed: int) -> bytes:
    """A photo of noise, 120,000 bytes in any encoding."""
    file = BytesIO()
    pixels = Random(seed).randbytes(3 * 200 * 200)
    Image.frombytes("RGB", (200, 200), pixels).save(file, "PNG")
    return file.getvalue()


def test_photos_in_json_may_be_as_large_as_a_form_s(
    client: TestClient, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = client.app.state  # type: ignore[attr-defined]
    monkeypatch.setattr(state, "settings", state.settings.model_copy(update={"text_bytes": 100}))
    text = b64encode(png("red")).decode()
    assert client.put("/items/a", json={"images": [text, text]}).status_code == 201


@pytest.mark.parametrize("route", ["/search/image", "/search/products"])
def test_photo_number_wants_the_item_s_id(shop: TestClient, route: str) -> None:
    answer = shop.post(route, json={"text": "blue", "photo": 1})
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "photo: it chooses one of an item's photos; send the item's id with it",
    )
