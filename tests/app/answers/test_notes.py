"""Answers name the keys and values of filters without items."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.answers.notes import note_unknown_keys, note_unknown_values

KINDS = ["products", "image", "text"]


@pytest.fixture
def notes(shop: TestClient):
    """The notes of a search by a filter without items."""
    about = {"size": {"height": 3}, "parts": [{"name": "leg"}], "year": "2011", "none": []}
    sent = {"metadata": {"title": "Rug", **about}, "sentences": ["red wool"]}
    assert shop.put("/items/rug", json=sent).status_code == 201

    def ask(where: dict[str, Any], kind: str = "products") -> list[str]:
        answer = shop.post(f"/search/{kind}", json={"text": "red", "filter": where}).json()
        assert answer["hits"] == []
        return answer["query"]["notes"]

    return ask


NOTED: list[tuple[dict[str, Any], str]] = [
    (
        {"brand": "nike"},
        'No item has "nike" under \'brand\'; the nearest value is "Nike": case counts.',
    ),
    (
        {"price": "30.5"},
        "No item has \"30.5\" under 'price'; the nearest value is 30.5, which is no text.",
    ),
    (
        {"year": 2011},
        "No item has 2011 under 'year'; the nearest value is \"2011\", a text.",
    ),
    ({"tags": ["huge"]}, "No item has \"huge\" under 'tags'."),
    (
        {"title": {"prefix": "sof"}},
        "No item has a text under 'title' that starts with \"sof\"; "
        'some start with "Sof": case counts.',
    ),
    ({"title": {"gte": 3}}, "No item has a number under 'title': "),
    ({"size": 3}, "Items have 'size', but filters, facets and orders compare nothing that is "),
    ({"size.height": 3}, "send it as a key of its own, such as 'size_height'."),
    ({"parts": "leg"}, "send it as a key of its own, such as 'parts_name'."),
    ({"about": "x"}, "Items have 'about', but filters, facets and orders compare only "),
    ({"none": "x"}, "Items have 'none', but filters, facets and orders compare only "),
    ({"title.en": "x"}, "No item has 'title.en' in its metadata; the nearest key is 'title'."),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_that_no_item_meets_is_told(notes, kind: str) -> None:
    for where, note in NOTED:
        assert [told for told in notes(where, kind) if note in told], where


def test_each_value_is_told_once_and_those_there_are_not(notes) -> None:
    where = {"$or": [{"brand": ["nike", "Acme"]}, {"brand": ["nike", "Acme"]}], "price": {"gt": 99}}
    assert len([note for note in notes(where) if "under" in note]) == 1
    assert len(notes({"brand": [f"x{number}" for number in range(50)]})) == 10


def test_few_keys_of_a_filter_are_looked_at() -> None:
    asked: list[str] = []
    some = {f"key {number}": "x" for number in range(30)}
    notes = note_unknown_keys(some, ["a"], lambda key: asked.append(key))
    assert len(notes) == len(asked) == 10
    asked.clear()
    exists = {"key 1": {"exists": True}}
    assert (
        note_unknown_values(exists, some, lambda key, _: asked.append(key) or ["x"]) == asked == []
    )
    where = {"$or": [some, {"key 0": {"prefix": "x"}}]}
    assert note_unknown_values(where, some, lambda key, _: asked.append(key) or ["x"]) == []
    assert asked == list(some)[:10]


def test_values_of_products_that_are_gone_are_none(shop: TestClient, notes) -> None:
    shop.put("/items/last", json={"metadata": {"brand": "Zed"}, "sentences": ["x"]})
    assert notes({"brand": "Zed", "title": "Rug"}) == []  # some item has each
    shop.delete("/items/last")
    assert any('"Zed" under' in note for note in notes({"brand": "Zed"}))


def test_nothing_is_said_of_values_where_there_are_hits(shop: TestClient) -> None:
    sent = {"text": "sofa", "filter": {"$not": {"brand": "nike"}}, "facets": ["brand"]}
    answer = shop.post("/search/products", json=sent).json()
    assert answer["hits"]
    assert answer["query"]["notes"] == []


def test_nothing_is_said_of_a_value_that_a_key_with_very_many_may_have(notes, monkeypatch) -> None:
    monkeypatch.setattr("app.answers.notes.MOST_VALUES", 1)
    assert notes({"brand": "nike"}) == []


def test_a_nested_facet_is_told_even_where_there_are_hits(shop: TestClient) -> None:
    about = {"metadata": {"title": "Rug", "size": {"height": 3}}, "sentences": ["red"]}
    shop.put("/items/rug", json=about)
    answer = shop.post("/search/products", json={"text": "rug", "facets": ["size"]}).json()
    assert answer["hits"]
    assert "nothing that is nested" in answer["query"]["notes"][0]


@pytest.mark.parametrize(
    ("sent", "notes"),
    [
        (
            {"fields": {"titel": 3, "about": 2, "id": 1, "file": 0}},
            ["fields: no item has words in 'titel'; the nearest field is 'title'."],
        ),
        (
            {"boosts": [{"key": "brand", "weight": 0.1}, {"key": "price", "weight": 0.1}]},
            ["boosts: no item has a number under 'brand'; a filter boosts by other values."],
        ),
        (
            {"boosts": [{"key": "prise", "weight": 0.1}]},
            ["No item has 'prise' in its metadata; the nearest key is 'price'."],
        ),
    ],
)
def test_weights_that_change_nothing_are_told(shop: TestClient, sent: dict, notes: list[str]):
    answer = shop.post("/search/products", json={"text": "sofa", **sent}).json()
    assert answer["hits"]
    assert answer["query"]["notes"] == notes
