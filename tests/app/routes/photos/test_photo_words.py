"""Words of names, places and descriptions add to looks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.routes.photos.asking import ask, ids

Png = Callable[..., bytes]
PHOTOS: dict[str, tuple[str, dict[str, Any]]] = {
    "a": ("red", {"city": "Lisbon", "file": "2019 Lisbon/IMG_2041.JPG", "folder": "2019 Lisbon"}),
    "b": ("blue", {"city": "Lisbon", "file": "2019 Lisbon/IMG_2042.JPG"}),
    "c": ("red", {"keywords": ["birthday", "cake"], "people": ["Anja Berg"]}),
    "d": ("red", {"shop": "Lisbon"}),
    "e": ("lime", {}),
}


@pytest.fixture
def photos(calibrated: TestClient, png: Png) -> TestClient:
    for name, (colour, metadata) in PHOTOS.items():
        sent = {"data": {"metadata": json.dumps(metadata)}, "files": {"image": png(colour)}}
        assert calibrated.put(f"/items/{name}", **sent).status_code == 201
    return calibrated


@pytest.mark.parametrize("text", ["an apple", "a camera"])
def test_cameras_and_their_folders_name_nothing_in_photos(photos: TestClient, text: str) -> None:
    told = {"camera": "Apple iPhone 12", "folder": "DCIM/Camera", "file": "DCIM/Camera/1.jpg"}
    photos.patch("/items/e", json={"metadata": told})
    assert all(hit["words"] == [] for hit in ask(photos, text=text)["hits"])


def test_looks_and_words_add_up_to_the_score(photos: TestClient) -> None:
    answer = ask(photos, text="red in Lisbon")
    assert ids(answer)[0] == "a"
    for hit in answer["hits"]:
        links = sum(link["similarity"] for link in hit["links"])
        words = sum(part["gave"] for part in hit["words"])
        assert links + words == pytest.approx(hit["score"])
    best = answer["hits"][0]
    assert {(part["word"], part["field"]) for part in best["words"]} == {
        ("Lisbon", "city"),
        ("Lisbon", "file"),
        ("Lisbon", "folder"),
    }


def test_words_raise_what_is_probable(photos: TestClient) -> None:
    by_looks = {hit["id"]: hit for hit in ask(photos, text="red Lisbon", words=False)["hits"]}
    with_words = {hit["id"]: hit for hit in ask(photos, text="red Lisbon")["hits"]}
    for name in "ab":
        assert with_words[name]["probability"] > by_looks[name]["probability"]
    for name in "cde":  # "shop" is no field that says what a photo is of
        assert with_words[name] == by_looks[name]


def test_searches_without_words_of_items_are_what_they_were(photos: TestClient) -> None:
    for sent in ({"text": "red, then blue"}, {"text": "lime", "min_probability": 0.1}):
        assert ask(photos, **sent) == ask(photos, **sent, words=False)
        assert all(hit["words"] == [] for hit in ask(photos, **sent)["hits"])


@pytest.mark.parametrize(
    ("text", "first"),
    [("IMG_2041", "a"), ("img 2042", "b"), ("Anja", "c"), ("birthday", "c"), ("2019 lisbon", "a")],
)
def test_names_alone_are_found(photos: TestClient, text: str, first: str) -> None:
    assert ids(ask(photos, text=text))[0] == first


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("an orange flower", []),
        ("Orange flowers", []),
        ("an orange", ["orange"]),
        ("orange, flower", ["orange"]),
        ("orange and blue", ["orange"]),
        ("a bright orange juice", ["orange", "juice"]),
        ("lime juice", ["juice"]),
        ("oranges flower", ["oranges"]),
    ],
)
def test_a_colour_counts_where_its_thing_is_named(
    photos: TestClient, text: str, named: list[str]
) -> None:
    photos.patch("/items/c", json={"metadata": {"title": "Oranges and their juice"}})
    hits = {hit["id"]: hit for hit in ask(photos, text=text)["hits"]}
    assert [part["word"] for part in hits["c"]["words"]] == named


def test_negated_words_are_not_looked_up(photos: TestClient) -> None:
    answer = ask(photos, text="red without Lisbon")
    assert all(part["word"] != "Lisbon" for hit in answer["hits"] for part in hit["words"])


def test_pages_of_named_photos_are_the_whole_list(photos: TestClient) -> None:
    whole = ask(photos, text="red Lisbon", limit=5)
    first = ask(photos, text="red Lisbon", limit=2)
    second = ask(photos, text="red Lisbon", limit=2, cursor=first["cursor"])
    assert first["hits"] + second["hits"] == whole["hits"][:4]


def test_named_photos_are_counted_and_sorted(photos: TestClient) -> None:
    answer = ask(photos, text="Lisbon", sort={"key": "file"}, facets=["city"])
    assert ids(answer)[:2] == ["a", "b"]
    (city,) = answer["facets"]
    assert {"value": "Lisbon", "count": 2} in city["values"]


def test_an_exact_search_gives_the_same_hits(photos: TestClient) -> None:
    assert (
        ask(photos, text="red Lisbon", exact=True)["hits"] == ask(photos, text="red Lisbon")["hits"]
    )


def test_a_name_is_searched_as_soon_as_it_is_stored(photos: TestClient, png: Png) -> None:
    photos.patch("/items/e", json={"metadata": {"title": "Zanzibar"}})
    assert ids(ask(photos, text="Zanzibar"))[0] == "e"
    photos.delete("/items/e")
    assert "e" not in ids(ask(photos, text="Zanzibar"))
