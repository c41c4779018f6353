"""A search names the words in a photo and their boxes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

Png = Callable[..., bytes]
BOX = [0.1, 0.2, 0.4, 0.3]
SIGN = {"text": "NOTAUSGANG\nEXIT", "text_boxes": [[0, 0.5, 0.2, 0.9, 0.3], [0, *BOX]]}
FILM = {"text": "Asdfgh", "text_boxes": [[1, *BOX]]}


@pytest.fixture
def signs(client: TestClient, png: Png) -> TestClient:
    def put(name: str, metadata: dict[str, Any], *colours: str) -> None:
        files = [("image", png(colours[0])), *(("images", png(each)) for each in colours[1:])]
        sent = client.put(f"/items/{name}", data={"metadata": json.dumps(metadata)}, files=files)
        assert sent.status_code == 201, sent.text

    put("sign", SIGN, "red")
    put("film", FILM, "blue", "lime")
    put("other", {}, "red")
    return client


def ask(client: TestClient, **sent: Any) -> dict[str, Any]:
    answer = client.post("/search/image", json=sent)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("text", ["exit", "Éxit", "red exit", "the EXIT, red"])
def test_the_sign_comes_first_and_its_word_has_a_box(signs: TestClient, text: str) -> None:
    best = ask(signs, text=text)["hits"][0]
    assert best["id"] == "sign"
    (word,) = best["words"]
    assert (word["field"], word["boxes"]) == ("text", [{"photo": 0, "box": BOX}])
    links = sum(link["similarity"] for link in best["links"])
    assert word["gave"] + links == pytest.approx(best["score"])


def test_a_word_in_a_later_photo_shows_that_photo(signs: TestClient) -> None:
    (hit,) = ask(signs, text="asdfgh")["hits"]
    assert (hit["id"], hit["photo"]) == ("film", 1)
    assert hit["image"].endswith("photo=1")
    assert hit["words"][0]["boxes"] == [{"photo": 1, "box": BOX}]


def test_hits_carry_the_text_and_boxes_only_if_asked(signs: TestClient) -> None:
    assert ask(signs, text="exit")["hits"][0]["metadata"] == {"text": SIGN["text"]}
    assert ask(signs, text="exit", fields=["text_boxes"])["hits"][0]["metadata"] == {
        "text_boxes": SIGN["text_boxes"]
    }
    assert signs.get("/items/sign").json()["metadata"] == SIGN


def test_an_alignment_adds_up_to_the_score_of_the_hit(signs: TestClient) -> None:
    hit = ask(signs, text="a red exit")["hits"][0]
    asked = {"id": "sign", "text": "a red exit"}
    aligned = signs.post("/align", json=asked).json()
    assert aligned["words"] == hit["words"]
    assert aligned["score"] == pytest.approx(hit["score"])
    parts = [phrase["similarity"] for phrase in aligned["phrases"]]
    parts += [word["gave"] for word in aligned["words"]]
    assert sum(parts) == pytest.approx(aligned["score"])


def test_a_picture_of_an_alignment_draws_the_word(signs: TestClient) -> None:
    drawn = signs.post(
        "/align", json={"id": "sign", "text": "exit"}, headers={"accept": "image/svg+xml"}
    ).text
    assert "“exit” in text" in drawn
    aligned = signs.post("/align", json={"id": "sign", "text": "exit"}).json()
    assert f"score {aligned['score']:.2f}" in drawn


def test_words_of_names_are_no_answer_of_the_whole_photo(signs: TestClient) -> None:
    signs.patch("/items/other", json={"metadata": {"city": "Qwertz"}})
    drawn = signs.post(
        "/align", json={"id": "other", "text": "qwertz"}, headers={"accept": "image/svg+xml"}
    ).text
    assert "qwertz" in drawn
    assert "the whole photo: " not in drawn
