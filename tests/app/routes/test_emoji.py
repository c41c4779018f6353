"""Emoji of queries are read as their names."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from app.schemas.emoji import name_emoji
from tests.app.routes.test_search import Png


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("🐶", "dog"),
        ("🐶 on grass", "dog on grass"),
        ("two🐱cats", "two cat cats"),
        ("🐶, (🍕)!", "dog, (pizza)!"),
        ("grass -🐶", "grass -dog"),
        ("🦊🦊 🦊", "fox"),
        ("🐶🐱", "dog cat"),
        ("❤️ ☀️", "red heart sun"),
        ("👍🏽", "thumbs up"),
        ("👩🏽‍🚒", "woman firefighter"),
        ("👨‍👩‍👧", "family"),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇫🇷", "England France"),
        ("🇫🇷🇫🇷 cup", "France cup"),
        ("🏴‍☠️ 🏴 🏳️‍🌈", "pirate flag black flag rainbow flag"),
        ("⛄", "snowman"),
        ("✔️ washable", "washable"),
        ("a - b 🐶", "a - b dog"),
        ("🐶-bed", "dog-bed"),
        ("🐶-🐱", "dog-cat"),
        ("🐶 -cat", "dog -cat"),
        ("60 ✖️ 40 🖼️", "60 x 40 framed picture"),
        ("➡️ shoes ▪️ black", "shoes black"),
        ("♥️", "heart"),
        ("☕️ 🚗", "cup of coffee car"),
    ],
)
def test_an_emoji_is_named(text: str, named: str) -> None:
    assert name_emoji(text) == named


@pytest.mark.parametrize(
    "text",
    ["Nike™  shoes®", "★★★ 1️⃣", "✅", "🏽", "क्‍ष", "½ l – 5 ℃", "I ♥ NY", "✔ ok", "▪ black ↔ 20"],
)
def test_signs_and_letters_of_scripts_stay(text: str) -> None:
    assert name_emoji(text) == text


def test_long_runs_of_joined_emoji_are_left_to_what_refuses_them() -> None:
    for text in ("👨\u200d" * 1_000, "🐶" * 8_001):
        assert name_emoji(text) == text


def test_a_search_by_an_emoji_answers_as_its_name_does(client: TestClient, png: Png) -> None:
    client.put("/items/a", files={"image": png("red")}, data={"metadata": '{"title": "Cat"}'})

    def ask(path: str, text: str) -> dict:
        answer = client.post(path, json={"text": text})
        assert answer.status_code == 200, answer.text
        found: dict = answer.json()
        return found | {"seconds": None}

    suggestions = client.get("/suggest", params={"text": "🐱"}).json()["suggestions"]
    assert suggestions == [{"text": "cat", "items": 1}]
    for path in ("/search/image", "/search/text", "/search/regions", "/search/products"):
        answer = ask(path, "red 🐱")
        assert answer["query"]["text"] == "red cat"
        assert answer["hits"] == ask(path, "red cat")["hits"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("🇫🇷", "flag of France"),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇫🇷", "flag of England flag of France"),
        ("🇮🇹 flag", "Italy flag"),
        ("made in 🇮🇹", "made in Italy"),
        ("🐶", "dog"),
    ],
)
def test_flags_alone_are_flags_where_photos_are_searched(text: str, named: str) -> None:
    assert name_emoji(text, flags=True) == named


def test_a_flag_finds_products_of_its_country(client: TestClient) -> None:
    titles = {"oil": "Olive oil of Italy", "tea": "Tea of Japan", "pole": "Flag pole"}
    for name, title in titles.items():
        client.put(f"/items/{name}", json={"metadata": {"title": title}, "sentences": [title]})
    answer = client.post("/search/products", json={"text": "🇮🇹"}).json()
    assert [hit["id"] for hit in answer["hits"]] == ["oil"]
