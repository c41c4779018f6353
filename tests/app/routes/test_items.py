"""Items are stored, replaced, listed and deleted, also in bulk."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app.engine.engine import Engine
from benchmarks.photos.files import draw, write_exif, write_picture, write_video, write_xmp
from index.items import NoSpace

Png = Callable[..., bytes]
LINES = {"content-type": "application/x-ndjson"}


def found(client: TestClient, text: str) -> list[str]:
    return [hit["id"] for hit in client.post("/search/image", json={"text": text}).json()["hits"]]


def test_item_comes_back_as_it_was_put(client: TestClient, png: Png) -> None:
    fields = {"metadata": '{"a": [1, null]}', "sentences": ["one", "two"]}
    answer = client.put("/items/x", files={"image": png("red")}, data=fields)
    assert answer.status_code == 201
    item = client.get("/items/x").json()
    photo = {
        "image": "/items/x/image",
        "thumbnail": item["thumbnail"],
        "width": 40,
        "height": 30,
    }
    assert item["thumbnail"].startswith("/items/x/image?size=small&v=")
    assert item == {
        "id": "x",
        "metadata": {"a": [1, None]},
        "sentences": ["one", "two"],
        **photo,
        "images": [photo],
        "stamp": None,
        "notes": [],
        "original": False,
    }
    assert answer.json() | {"original": False} == item


def test_an_item_says_which_regions_and_words_weigh_most(client: TestClient, png: Png) -> None:
    """A colour's vector is as long as it is far from grey."""
    fields = {"sentences": ["a gray and red wall"]}
    client.put("/items/x", files={"image": png("red")}, data=fields)
    answer = client.get("/items/x/magnitudes").json()
    (photo,), (sentence,) = answer["photos"], answer["sentences"]
    assert [part["magnitude"] for part in photo] == pytest.approx([3**0.5] * 5, abs=0.1)
    assert sorted(part["fragment"] for part in photo) == [*range(5)]
    assert (sentence[0]["label"], sentence[0]["span"]) == ("red", [11, 14])
    assert sentence[0]["magnitude"] == pytest.approx(3**0.5, abs=1e-3)
    assert all(part["magnitude"] < 0.1 for part in sentence[1:])
    assert client.get("/items/none/magnitudes").status_code == 404


def test_put_again_replaces_everything(client: TestClient, png: Png) -> None:
    client.put("/items/x", files={"image": png("red")})
    answer = client.put("/items/x", json={"sentences": ["blue"]})
    assert answer.status_code == 200
    assert client.get("/items/x").json()["image"] is None
    assert found(client, "red") == []


def test_sentences_that_take_minutes_to_embed_are_refused_before(client: TestClient) -> None:
    paragraph = "a solid oak table with rounded corners, " * 20  # 140 words
    few, many = [f"{paragraph} {number}" for number in range(20)], [paragraph] * 200
    assert client.put("/items/x", json={"sentences": few}).status_code == 201
    refused = client.put("/items/x", json={"sentences": many})
    assert refused.status_code == 422
    assert "160,000 bytes together, and 131,072 at most" in refused.json()["detail"]
    line = client.post("/items", content=json.dumps({"id": "y", "sentences": many}), headers=LINES)
    assert "160,000 bytes together" in line.json()["reason"]


def test_deleted_item_is_gone_from_the_next_search(client: TestClient, png: Png) -> None:
    client.put("/items/x", files={"image": png("red")})
    assert found(client, "red") == ["x"]
    assert client.delete("/items/x").status_code == 204
    assert found(client, "red") == []
    assert client.delete("/items/x").status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        *("a/b", "naïve 写真.jpg", "a%2Fb", "x/image", "?#&", "日/image", "👨\u200d👩\u200d👧.png"),
        *(
            "no\u00a0break",
            "\u202eabc",
            "line\nend\r\n",
            "\x1b[31m",
            "\u2028\u0085",
            " ",
            "ü" * 512,
        ),
    ],
)
def test_any_id_works(client: TestClient, png: Png, name: str) -> None:
    path = f"/items/{quote(name, safe='')}"
    assert client.put(path, files={"image": png("red")}).json()["id"] == name
    assert client.get(path).json()["id"] == name
    image = client.post("/search/image", json={"text": "red"}).json()["hits"][0]["image"]
    assert client.get(image).headers["content-type"] == "image/jpeg"
    assert client.delete(path).status_code == 204


def test_image_is_not_sent_again_until_it_changes(client: TestClient, png: Png) -> None:
    client.put("/items/x", files={"image": png("red")})
    tag = client.get("/items/x/image").headers["etag"]
    known = {"if-none-match": tag}
    assert client.get("/items/x/image", headers=known).status_code == 304
    client.put("/items/x", files={"image": png("blue")})
    assert client.get("/items/x/image", headers=known).status_code == 200


def test_image_is_not_sent_to_who_names_it_among_others(client: TestClient, png: Png) -> None:
    client.put("/items/a", files={"image": png("red")})
    tag = client.get("/items/a/image").headers["etag"]
    for named in (f'"x", {tag}', f"W/{tag}", "*"):
        answer = client.get("/items/a/image", headers={"if-none-match": named})
        assert answer.status_code == 304
    for named, status in (('"x"', 200), ('"', 422)):
        answer = client.get("/items/a/image", headers={"if-none-match": named})
        assert answer.status_code == status


def test_an_item_is_not_sent_again_until_it_changes(client: TestClient) -> None:
    client.put("/items/a", json={"sentences": ["red"]})
    tag = client.get("/items/a").headers["etag"]
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        answer = client.get("/items/a", headers={"if-none-match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    client.patch("/items/a", json={"metadata": {"n": 1}})
    changed = client.get("/items/a", headers={"if-none-match": tag})
    assert (changed.status_code, changed.json()["metadata"]) == (200, {"n": 1})


def test_list_gives_pages_by_id_and_filters(client: TestClient) -> None:
    for name, kind in [("b", 1), ("a", 2), ("c", 1), ("d", 1)]:
        client.put(f"/items/{name}", json={"sentences": ["red"], "metadata": {"kind": kind}})
    query: dict[str, Any] = {"limit": 2, "filter": '{"kind": 1}'}
    first = client.get("/items", params=query).json()
    assert [item["id"] for item in first["items"]] == ["b", "c"]
    second = client.get("/items", params=query | {"cursor": first["cursor"]}).json()
    assert [item["id"] for item in second["items"]] == ["d"]
    assert second["cursor"] is None
    assert client.get("/items", params={"cursor": first["cursor"]}).status_code == 422
    assert client.get("/items", params={"filter": "["}).status_code == 422


def test_an_empty_cursor_is_refused_as_any_other_foreign_one(client: TestClient) -> None:
    details = [
        client.get("/items", params={"cursor": cursor}).json()["detail"] for cursor in ("", "x")
    ]
    assert details == ["cursor: not one that this service gave; leave it out"] * 2


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_filter_of_a_list_is_refused(client: TestClient, empty: str) -> None:
    client.put("/items/a", json={"sentences": ["red"]})
    refused = client.get("/items", params={"filter": empty})
    assert refused.status_code == 422
    assert refused.json()["detail"] == (
        'filter: it is empty; leave it out, or send JSON such as {"album": "park"}'
    )
    assert len(client.get("/items", params={"filter": "{}"}).json()["items"]) == 1


def test_animation_is_stored_with_a_note(client: TestClient, png: Png) -> None:
    frames = [Image.open(BytesIO(png(colour))) for colour in ("red", "blue")]
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    answer = client.put("/items/x", files={"image": file.getvalue()}).json()
    assert answer["notes"] == ["only the first frame of the animation was used"]


def test_bulk_import_answers_every_line_in_order(client: TestClient, png: Png) -> None:
    image = b64encode(png("red")).decode()
    lines = [
        json.dumps({"id": "a", "image": image, "metadata": {"n": 1}}),
        "",
        "{",
        json.dumps({"id": "b", "sentences": ["?!"]}),
        json.dumps({"id": "c", "image": "aGVsbG8="}),
        json.dumps({"id": "c", "image": "?"}),
        json.dumps({"id": "d", "sentences": ["blue"], "more": 1}),
        json.dumps({"id": "e", "sentences": ["x" * 700_000]}),
        json.dumps({"id": "f", "sentences": ["blue"]}),
    ]
    answer = client.post("/items", content="\n".join(lines), headers=LINES)
    assert answer.headers["content-type"] == "application/x-ndjson"
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [s["line"] for s in statuses] == [1, 3, 4, 5, 6, 7, 8, 9]
    assert [s["status"] == "stored" for s in statuses] == [True] + [False] * 6 + [True]
    assert [s.get("id") for s in statuses] == ["a", None, "b", "c", "c", "d", None, "f"]
    reasons = [s.get("reason", "") for s in statuses]
    for reason, words in zip(
        reasons[1:7],
        [
            "JSON",
            "no words",
            "not an image",
            "base64",
            "more: there is no such field",
            "longer than",
        ],
        strict=True,
    ):
        assert words in reason
    assert [item["id"] for item in client.get("/items").json()["items"]] == ["a", "f"]


def test_bulk_import_stores_more_than_a_batch(client: TestClient) -> None:
    def lines() -> Iterator[bytes]:
        for number in range(50):
            yield json.dumps({"id": f"{number:02}", "sentences": ["red"]}).encode() + b"\n"

    answer = client.post("/items", content=lines(), headers=LINES)
    assert answer.text.count('"stored"') == 50
    assert len(client.get("/items?limit=100").json()["items"]) == 50


def test_line_is_acknowledged_only_when_it_is_stored(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NoSpace("the disk is full")

    monkeypatch.setattr(engine.catalog, "put_many", full)
    answer = client.post("/items", content=b'{"id": "a", "sentences": ["red"]}', headers=LINES)
    assert answer.json() == {
        "line": 1,
        "id": "a",
        "status": "refused",
        "reason": "the disk is full",
    }


def test_bulk_import_reads_lines_of_json_only(client: TestClient) -> None:
    answer = client.post("/items", json={"id": "a"})
    assert answer.status_code == 415
    assert "application/x-ndjson" in answer.json()["detail"]


def test_an_item_with_a_title_alone_is_found_by_it_and_by_the_next_one(client: TestClient) -> None:
    sent = {"metadata": {"title": " red ", "price": 5}}
    assert client.put("/items/x", json=sent).json()["sentences"] == ["red"]
    lines = b'{"id": "y", "metadata": {"name": "blue"}}\n{"id": "z", "metadata": {"title": [3]}}\n'
    answers = client.post("/items", content=lines, headers=LINES).text.splitlines()
    assert [json.loads(line)["status"] for line in answers] == ["stored", "refused"]

    def best(text: str) -> str:
        return str(client.post("/search/text", json={"text": text}).json()["hits"][0]["id"])

    assert (best("red"), best("blue")) == ("x", "y")
    patch = {"metadata": {"price": 4}}
    assert client.patch("/items/x", json=patch).json()["sentences"] == ["red"]
    patched = client.patch("/items/x", json={"metadata": {"title": "blue"}}).json()
    assert patched | {"original": False} == {
        **client.get("/items/x").json(),
        "metadata": {"title": "blue", "price": 4},
        "sentences": ["blue"],
    }
    assert client.patch("/items/y", json={"metadata": {"title": "red"}}).json()["sentences"] == [
        "red"
    ]
    assert (best("red"), best("blue")) == ("y", "x")


def test_a_title_is_a_number_too_and_a_long_one_is_cut(client: TestClient) -> None:
    long, hyphens = "red " * 300, "a-b-c-" * 160
    for name, title, sentence in (
        ("n", 1984, "1984"),
        ("l", long, ("red " * 200).strip()),
        ("h", hyphens, ("a-b-c-" * 67)[:399]),
    ):
        sent = {"metadata": {"title": title}}
        assert client.put(f"/items/{name}", json=sent).json()["sentences"] == [sentence]
        assert client.get(f"/items/{name}").json()["metadata"] == sent["metadata"]
    refused = client.put("/items/e", json={"metadata": {"title": "---"}})
    assert refused.status_code == 422
    assert "item 'e': its text '---': the text has no words" in refused.json()["detail"]


def test_sentences_that_were_sent_do_not_follow_the_title(client: TestClient, png: Png) -> None:
    client.put("/items/x", json={"metadata": {"title": "red"}, "sentences": ["red", "blue"]})
    fields = {"metadata": '{"title": "red"}', "sentences": ["red"]}
    client.put("/items/y", files={"image": png("red")}, data=fields)
    for name, sentences in {"x": ["red", "blue"], "y": ["red"]}.items():
        answer = client.patch(f"/items/{name}", json={"metadata": {"title": "lime"}})
        assert answer.json()["sentences"] == sentences
    assert client.patch("/items/z", json={"metadata": {"title": "red"}}).status_code == 404


def test_an_item_takes_the_metadata_of_its_photo_if_asked(client: TestClient) -> None:
    exif = write_exif("2019:08:04 15:22:10", "+01:00", (38.7125, -9.1393))
    jpeg = write_picture("JPEG", draw(1, 60, 40), exif, write_xmp(4, "In the file"))
    form = {"metadata": json.dumps({"title": "My own"}), "read_metadata": "true"}
    client.put("/items/a", files={"image": jpeg}, data=form).raise_for_status()
    body = {"image": b64encode(jpeg).decode(), "id": "b", "read_metadata": True}
    lines = client.post("/items", content=json.dumps(body), headers=LINES)
    assert lines.json()["status"] == "stored"
    first, second = (client.get(f"/items/{name}").json()["metadata"] for name in "ab")
    assert (first["title"], second["title"]) == ("My own", "In the file")
    assert first["taken"] == second["taken"] == "2019-08-04T15:22:10+01:00"
    assert (first["city"], first["rating"]) == ("Lisbon", 4)
    client.put("/items/c", files={"image": jpeg}).raise_for_status()
    assert client.get("/items/c").json()["metadata"] == {}


def test_a_hit_says_the_second_of_a_video(client: TestClient) -> None:
    video = write_video(1, 6, "mp4")
    form = {"read_metadata": "true"}
    stored = client.put("/items/clip", files={"image": video}, data=form).json()
    assert stored["metadata"]["seconds"] == [0.0, 3.0, 5.0]
    assert len(stored["images"]) == 3
    (hit,) = client.post("/search/image", json={"id": "clip", "photo": 1}).json()["hits"][:1]
    assert hit["second"] == stored["metadata"]["seconds"][hit["photo"]]
    client.put("/items/once", files={"image": video}).raise_for_status()
    assert client.get("/items/once").json()["metadata"] == {}
    assert len(client.get("/items/once").json()["images"]) == 1
