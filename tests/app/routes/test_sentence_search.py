"""Texts as searches of stored sentences."""

from __future__ import annotations

import math
from typing import Any

import pytest
from starlette.testclient import TestClient

TOLD = {
    "r": "red",
    "rb": "a red and blue flag",
    "b": "blue",
    "g": "lime",
    "not": "red without blue",
    "noise": "red asdfgh",
}


@pytest.fixture
def told(client: TestClient) -> TestClient:
    for name, sentence in TOLD.items():
        client.put(f"/items/{name}", json={"sentences": [sentence], "metadata": {"name": name}})
    return client


def ask(client: TestClient, **asked: Any) -> dict[str, Any]:
    answer = client.post("/search/text", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("sentence", TOLD.values())
def test_a_sentence_finds_itself_first(told: TestClient, sentence: str) -> None:
    """Also with a negation or an unknown word."""
    first = ask(told, text=sentence)["hits"][0]
    assert first["score"] == pytest.approx(1)


def test_each_word_of_a_text_tells_which_words_answer_it(told: TestClient) -> None:
    """Red is (1, −1, −1) and blue (−1, −1, 1): their sum (0, −2, 0) has a length of 2."""
    hits = {hit["id"]: hit for hit in ask(told, text="red blue")["hits"]}
    red, blue = hits["rb"]["links"]
    assert (red["fragment"], red["label"], red["span"]) == (0, "red", [2, 5])
    assert (red["added"], red["whole"]) == (pytest.approx(3 / 4), pytest.approx(-1 / 4))
    assert (blue["fragment"], blue["label"], blue["span"]) == (1, "blue", [10, 14])
    (red, blue) = hits["r"]["links"]
    assert (red["similarity"], blue["similarity"]) == pytest.approx(
        (3 / (2 * math.sqrt(3)), -1 / (2 * math.sqrt(3)))
    )
    assert (blue["fragment"], blue["label"]) == (1, "red")


def test_links_and_phrases_add_up_to_the_score(told: TestClient) -> None:
    phrases = [{"text": "a red flag", "weight": 2}, {"text": "lime", "weight": 0.5}]
    for asked in ({"text": "a red flag without lime"}, {"phrases": phrases}):
        for hit in ask(told, **asked)["hits"]:
            for parts in (hit["links"], hit["phrases"]):
                total = sum(part["similarity"] for part in parts)
                assert total == pytest.approx(hit["score"], abs=1e-5)
                assert not any(part["negated"] for part in parts)


def test_unknown_words_are_named_and_count(told: TestClient) -> None:
    answer = ask(told, text="asdfgh red")
    assert answer["query"]["notes"] == ['"asdfgh" is not a word that the model knows.']
    assert [part["label"] for part in answer["query"]["fragments"]] == ["asdfgh", "red"]
    assert ask(told, text="asdfgh")["hits"] == []


def test_pages_and_filters(told: TestClient) -> None:
    whole = [hit["id"] for hit in ask(told, text="red blue")["hits"]]
    assert len(whole) == len(TOLD)
    pages, cursor = list[str](), None
    while len(pages) < len(TOLD):
        page = ask(told, text="red blue", limit=2, cursor=cursor)
        pages += [hit["id"] for hit in page["hits"]]
        cursor = page["cursor"]
    assert (pages, cursor) == (whole, None)
    some = ask(told, text="red blue", filter={"name": ["b", "g"]})["hits"]
    assert [hit["id"] for hit in some] == [name for name in whole if name in ("b", "g")]
    exact = ask(told, text="red blue", exact=True)["hits"]
    assert [hit["id"] for hit in exact] == whole
