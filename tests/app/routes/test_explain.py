"""Alignments add up in JSON and pictures; captions have probabilities."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from app.http.errors import NotAcceptable
from app.http.headers import negotiate

Png = Callable[..., bytes]


def test_uploaded_and_stored_photo_align_alike(client: TestClient, png: Png) -> None:
    photo = {"image": png("red", "blue")}
    client.put("/items/x", files=photo)
    uploaded = client.post("/align", files=photo, data={"text": "red and blue"}).json()
    stored = client.post("/align", json={"id": "x", "text": "red and blue"}).json()
    assert stored["image"] == "/items/x/image"
    assert uploaded == stored | {"image": None}
    assert (stored["width"], stored["height"], len(stored["boxes"])) == (40, 30, 5)
    links = stored["links"]
    assert sum(link["similarity"] for link in links) == pytest.approx(stored["score"])
    assert [link["box"] for link in links][::2] == [[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5]]


def test_phrases_add_up_and_have_the_boxes_that_regions_earned(
    client: TestClient, png: Png
) -> None:
    photo = {"image": png("red", "blue")}
    answer = client.post("/align", files=photo, data={"text": "a red, a blue and lime"}).json()
    total = sum(phrase["similarity"] for phrase in answer["phrases"])
    assert total == pytest.approx(answer["score"])
    for phrase in answer["phrases"]:
        assert phrase["whole"] + phrase["added"] == pytest.approx(phrase["similarity"])
    red = answer["phrases"][0]
    assert (red["text"], red["box"]) == ("a red", [0, 0, 0.5, 0.5])
    photo = {"image": png("red")}
    (red,) = client.post("/align", files=photo, data={"text": "a red"}).json()["phrases"]
    assert (red["box"], red["added"]) == (None, pytest.approx(0, abs=1e-5))


@pytest.mark.parametrize("kind", ["application/json", "image/svg+xml"])
def test_a_word_that_nobody_knows_aligns_with_nothing(
    client: TestClient, png: Png, kind: str
) -> None:
    photo = {"image": png("red")}
    answer = client.post("/align", files=photo, data={"text": "asdfgh"}, headers={"accept": kind})
    assert answer.status_code == 200
    if kind == "application/json":
        told = answer.json()
        assert (told["score"], told["links"], told["phrases"]) == (0, [], [])
        assert '"asdfgh"' in told["notes"][0]


def test_what_is_negated_is_explained_as_in_a_search(client: TestClient, png: Png) -> None:
    photo = {"image": png("red", "blue")}
    told = client.post("/align", files=photo, data={"text": "red but no blue"}).json()
    red, blue = told["phrases"]
    assert (red["text"], blue["text"], blue["negated"]) == ("red", "blue", True)
    assert blue["similarity"] < 0
    assert red["similarity"] + blue["similarity"] == pytest.approx(told["score"])
    assert told["notes"] == ['Negation: photos with "blue" come later.']


def test_beta_joins_words_into_phrases(client: TestClient, png: Png) -> None:
    photo = {"image": png("red", "blue")}

    def phrases(beta: str) -> list[str]:
        form = {"text": "red and blue", "beta": beta}
        answer = client.post("/align", files=photo, data=form).json()
        return [phrase["text"] for phrase in answer["phrases"]]

    assert phrases("1") in (["red and", "blue"], ["red", "and blue"])
    assert phrases("100") == ["red and blue"]
    answer = client.post("/align", files=photo, data={"text": "red", "beta": "-1"})
    assert "beta" in answer.json()["detail"]


@pytest.mark.parametrize(("kind", "start"), [("image/png", b"\x89PNG"), ("image/svg+xml", b"<svg")])
def test_alignment_can_be_had_as_a_picture(
    client: TestClient, png: Png, kind: str, start: bytes
) -> None:
    form = {"text": "red & <blue>"}
    photo = {"image": png("red", "blue")}
    answer = client.post("/align", files=photo, data=form, headers={"accept": kind})
    assert answer.headers["content-type"] == kind
    assert answer.content.startswith(start)
    refused = client.post("/align", files=photo, data=form, headers={"accept": "text/html"})
    assert refused.status_code == 406


def test_phrases_get_their_likeliest_boxes_in_stored_and_uploaded_photos(
    client: TestClient, png: Png
) -> None:
    photo = {"image": png("red", "blue")}
    client.put("/items/x", files=photo)
    asked = {"text": "Left and right", "phrases": ["left", "right"], "count": 2}
    stored = client.post("/ground", json=asked | {"id": "x"}).json()
    assert (stored["image"], stored["width"], stored["height"]) == ("/items/x/image", 40, 30)
    left, right = [0, 0, 0.5, 1], [0.5, 0, 1, 1]
    assert [(one["present"], one["probability"]) for one in stored["phrases"]] == [(True, None)] * 2
    assert [(one["text"], one["span"]) for one in stored["phrases"]] == [
        ("Left", [0, 4]),
        ("right", [9, 14]),
    ]
    assert [[one["box"] for one in own["boxes"]] for own in stored["phrases"]] == [
        [left, right],
        [right, left],
    ]
    form = {"text": "Left and right", "phrases": '["left", "right"]', "count": "2"}
    uploaded = client.post("/ground", files=photo, data=form).json()
    assert uploaded == stored | {"image": None}
    whole = client.post("/ground", json={"id": "x", "text": "left"}).json()
    assert [one["box"] for one in whole["phrases"][0]["boxes"]] == [left]


@pytest.mark.parametrize(
    ("text", "phrase", "span"),
    [("A woman, a man", "man", [11, 14]), ("streets, a tree", "TREE", [11, 15]),
     ("two bulldogs", "dogs", [8, 12]), ("(left) and so on", "(left)", [0, 6])],
)  # fmt: skip
def test_a_phrase_is_whole_words_where_it_can_be(
    client: TestClient, png: Png, text: str, phrase: str, span: list[int]
) -> None:
    form = {"text": text, "phrases": json.dumps([phrase])}
    answer = client.post("/ground", files={"image": png("red")}, data=form).json()
    assert answer["phrases"][0]["span"] == span


def test_a_phrase_must_be_in_the_text(client: TestClient, png: Png) -> None:
    photo = {"image": png("red")}
    form = {"text": "a cat", "phrases": '["a dog"]'}
    answer = client.post("/ground", files=photo, data=form)
    assert answer.status_code == 422
    assert "'a dog' is not in the text; copy it from there" in answer.json()["detail"]
    wordless = client.post("/ground", files=photo, data={"text": ""})
    assert wordless.status_code == 422
    assert "no words" in wordless.json()["detail"]
    nothing = client.post("/ground", json={"text": "a cat"})
    assert nothing.status_code == 422
    assert "either an image or the id" in nothing.json()["detail"]


@pytest.mark.parametrize(("kind", "start"), [("image/png", b"\x89PNG"), ("image/svg+xml", b"<svg")])
def test_grounding_can_be_had_as_a_picture(
    client: TestClient, png: Png, kind: str, start: bytes
) -> None:
    photo, form = {"image": png("red", "blue")}, {"text": "left", "phrases": '["left"]'}
    answer = client.post("/ground", files=photo, data=form, headers={"accept": kind})
    assert answer.headers["content-type"] == kind
    assert answer.content.startswith(start)
    if kind == "image/svg+xml":
        assert "how well its box fits the phrase" in answer.text
        assert "score" not in answer.text


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("image/*", "image/png"),
        ("application/json;q=0.5, image/svg+xml", "image/svg+xml"),
        ("text/html, */*;q=0.1", "application/json"),
        ("*/*, image/png", "image/png"),
    ],
)
def test_best_liked_kind_is_chosen(accept: str, kind: str) -> None:
    assert negotiate(accept, ("application/json", "image/png", "image/svg+xml")) == kind


@pytest.mark.parametrize("accept", ["text/html", "image/png;q=0"])
def test_kind_that_cannot_be_had_is_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiate(accept, ("image/png",))


def test_caption_describes_uploaded_and_stored_photos(client: TestClient, png: Png) -> None:
    form = {"beam": "3", "count": "2"}
    uploaded = client.post("/caption", files={"image": png("red")}, data=form).json()
    told = [
        (one["text"], one["log_probability"], one["probability"], one["unsure"])
        for one in uploaded["captions"]
    ]
    assert told == [("40 by 30", 0.0, None, False), ("40 by 30", -1.0, None, False)]
    client.put("/items/x", files={"image": png("red")})
    assert client.post("/caption", json={"id": "x"}).json()["captions"][0]["text"] == "40 by 30"


@pytest.mark.parametrize("body", [{}, {"id": "x", "beam": 0}, {"id": "x", "beam": 2, "count": 3}])
def test_impossible_caption_is_refused(client: TestClient, body: dict[str, object]) -> None:
    assert client.post("/caption", json=body).status_code == 422


def test_image_and_id_together_are_refused(client: TestClient, png: Png) -> None:
    photo = {"image": png("red")}
    for path in ("/align", "/caption"):
        form = {"id": "x", "text": "red"} if path == "/align" else {"id": "x"}
        answer = client.post(path, files=photo, data=form)
        assert "either an image or the id" in answer.json()["detail"]
