"""Parts of photos as answers."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

RED, LIME, BLUE, GREY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (127, 127, 127)


def png(*quadrants: tuple[int, int, int]) -> bytes:
    """A photo of four colours: left and right above, then below."""
    photo = Image.new("RGB", (80, 60))
    for number, colour in enumerate(quadrants):
        left, top = 40 * (number % 2), 30 * (number // 2)
        photo.paste(colour, (left, top, left + 40, top + 30))
    file = BytesIO()
    photo.save(file, "PNG")
    return file.getvalue()


PHOTOS = {
    "corner": png(GREY, GREY, GREY, RED),
    "half": png(RED, LIME, RED, LIME),
    "blue": png(BLUE, BLUE, GREY, BLUE),
}


@pytest.fixture
def shown(client: TestClient) -> TestClient:
    for name, photo in PHOTOS.items():
        fields = {"metadata": f'{{"name": "{name}"}}'}
        client.put(f"/items/{name}", files={"image": photo}, data=fields).raise_for_status()
    return client


def ask(client: TestClient, **asked: Any) -> dict[str, Any]:
    answer = client.post("/search/regions", json=asked)
    assert answer.status_code == 200, answer.text
    answered: dict[str, Any] = answer.json()
    return answered


def test_the_part_comes_first_however_little_of_the_photo_it_is(shown: TestClient) -> None:
    """A red part scores 3; half of the second photo is lime."""
    *both, last = ask(shown, text="red")["hits"]
    hits = {hit["id"]: hit for hit in both}
    assert (last["id"], last["region"]) == ("blue", 3)
    assert hits["half"]["region"] in (1, 3)
    first = hits["corner"]
    assert (first["region"], first["box"]) == (4, [0.5, 0.5, 1, 1])
    assert [hit["score"] for hit in both] == pytest.approx([3, 3], abs=0.2)
    (link,) = first["links"]
    assert link["whole"] + link["added"] == pytest.approx(first["score"], abs=1e-5)
    assert link["whole"] < 1.5
    assert first["probability"] is None
    (phrase,) = first["phrases"]
    assert (phrase["text"], phrase["box"]) == ("red", [0.5, 0.5, 1, 1])


def test_links_and_phrases_add_up_to_the_score(shown: TestClient) -> None:
    phrases = [{"text": "red flag", "weight": 2}, {"text": "lime", "weight": 0.5}]
    for asked in ({"text": "red and blue"}, {"text": "red without lime"}, {"phrases": phrases}):
        for hit in ask(shown, **asked, per_photo=3)["hits"]:
            for parts in (hit["links"], hit["phrases"]):
                total = sum(part["similarity"] for part in parts)
                assert total == pytest.approx(hit["score"], abs=1e-3)


def test_parts_of_photos_and_uploads_ask_too(shown: TestClient) -> None:
    stored = ask(shown, id="corner", box=[0.5, 0.5, 1, 1])["hits"]
    assert {hit["id"] for hit in stored[:2]} == {"corner", "half"}
    files, box = {"image": png(RED, RED, RED, RED)}, {"box": "0,0,1,1"}
    sent = shown.post("/search/regions", files=files, data=box).json()["hits"]
    assert {hit["id"] for hit in sent[:2]} == {"corner", "half"}


def test_pages_and_filters(shown: TestClient) -> None:
    whole = ask(shown, text="red", per_photo=4)["hits"]
    assert len(whole) == 12
    hits, cursor = list[dict[str, Any]](), None
    while len(hits) < len(whole):
        page = ask(shown, text="red", per_photo=4, limit=5, cursor=cursor)
        hits += page["hits"]
        cursor = page["cursor"]
    assert (hits, cursor) == (whole, None)
    some = ask(shown, text="red", per_photo=4, filter={"name": "half"}, exact=True)["hits"]
    assert some == [hit for hit in whole if hit["id"] == "half"]
    page = ask(shown, text="red", per_photo=4, limit=5)
    other = shown.post("/search/regions", json={"text": "red", "cursor": page["cursor"]})
    assert other.status_code == 422
    assert "another query" in other.json()["detail"]


def test_a_hit_names_the_picture_of_its_part(shown: TestClient) -> None:
    first = ask(shown, text="red")["hits"][0]
    for kind in ("jpeg", "webp"):
        answer = shown.get(first["crop"], headers={"Accept": f"image/{kind}"})
        assert answer.headers["content-type"] == f"image/{kind}"
        picture = Image.open(BytesIO(answer.content)).convert("RGB")
        assert picture.size == (40, 30)
        assert all(abs(a - b) < 40 for a, b in zip(picture.getpixel((30, 20)), RED, strict=True))
    known = {"If-None-Match": answer.headers["etag"], "Accept": "image/webp"}
    assert shown.get(first["crop"], headers=known).status_code == 304


def test_a_page_of_hits_is_a_contact_sheet(shown: TestClient) -> None:
    accept = {"Accept": "image/webp"}
    sheet = shown.post("/search/regions", json={"text": "red"}, headers=accept)
    assert Image.open(BytesIO(sheet.content)).size == (3 * 164 + 4, 168)
    nothing = {"text": "red", "filter": {"name": "none"}}
    refused = shown.post("/search/regions", json=nothing, headers=accept)
    assert refused.status_code == 422
    assert "no region was found" in refused.json()["detail"]
    png_asked = shown.post("/search/regions", json={"text": "red"}, headers={"Accept": "image/png"})
    assert png_asked.status_code == 406


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"text": "red", "min_probability": 0.5}, "leave min_probability out"),
        ({"text": "red", "per_photo": 0}, "per_photo"),
        ({}, "send one of text, phrases, id or image"),
    ],
)
def test_what_cannot_be_asked_is_refused(shown: TestClient, sent: Any, why: str) -> None:
    answer = shown.post("/search/regions", json=sent)
    assert answer.status_code == 422
    assert why in answer.json()["detail"]


@pytest.mark.parametrize("box", ["", "1,2", "0,0,2,1", "nan,0,1,1", "0.5,0,0.5,1", "a,b,c,d"])
def test_a_box_that_is_none_is_refused(shown: TestClient, box: str) -> None:
    answer = shown.get("/items/half/crop", params={"box": box})
    assert answer.status_code == 422
    assert "box: " in answer.json()["detail"]
