"""Products like a photo and a text: "like this, but blue"."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.shops import Post, ids


def parts_of(hit: dict[str, Any], kind: str) -> list[float]:
    return [part["gave"] for part in hit["parts"] if part["kind"] == kind]


def test_a_word_that_no_item_has_leaves_what_the_photo_finds(post: Post) -> None:
    found = post(text="blue", id="AB-1", photo_weight=0.5, facets=["brand"])
    assert set(ids(found)) == set(ids(post(id="AB-1"))) == {"AB-1", "AB-4", "AB-6"}
    assert found["query"]["notes"] == ['"blue" is in no item.']
    assert found["total"] == 3
    brands = Counter(hit["metadata"]["brand"] for hit in found["hits"])
    assert {one["value"]: one["count"] for one in found["facets"][0]["values"]} == brands


def test_the_word_pulls_by_the_joint_space(shop: TestClient, post: Post, png: Any) -> None:
    about = {"metadata": '{"title": "Scarf"}'}
    shop.put("/items/scarf", files={"image": png("red", "blue")}, data=about)
    assert ids(post(text="blue", id="AB-1", photo_weight=0.5))[0] == "scarf"
    assert ids(post(text="red", id="AB-2", photo_weight=0.5))[0] == "scarf"


def test_a_word_that_items_have_adds_them_to_what_the_photo_finds(post: Post) -> None:
    found = post(text="sofa", id="AB-1", photo_weight=0.5)
    assert set(ids(found)[:2]) == {"AB-5", "AB-6"}
    assert set(ids(found)[2:]) == {"AB-1", "AB-4"}
    assert post(text="sofa", id="AB-1", photo_weight=10)["hits"][0]["id"] == "AB-6"  # is both


@pytest.mark.parametrize("weight", [0.1, 1, 10, -0.5])
def test_likeness_gives_the_weight_of_looks_times_the_photos(post: Post, weight: float) -> None:
    found = post(text="summer dress", id="AB-1", photo_weight=weight, weights={"looks": 0.3})
    likeness = {hit["id"]: parts_of(hit, "likeness") for hit in found["hits"]}
    assert likeness["AB-1"] == [pytest.approx(0.3 * weight, rel=1e-3)]
    for hit in found["hits"]:
        assert sum(part["gave"] for part in hit["parts"]) == pytest.approx(hit["score"])


def test_what_looks_like_a_photo_loses_by_a_weight_below_none(post: Post) -> None:
    assert ids(post(text="red", id="AB-1", photo_weight=1))[:2] == ["AB-1", "AB-4"]
    assert ids(post(text="red", id="AB-1", photo_weight=-1)) == []
    first, second = post(text="summer dress", id="AB-1", photo_weight=-1)["hits"]
    assert (first["id"], second["id"]) == ("AB-2", "AB-1")
    assert parts_of(second, "likeness") == [pytest.approx(-0.2, rel=1e-3)]


def test_a_hit_is_as_probable_as_the_least_of_text_and_photo(post: Post) -> None:
    alike = {
        hit["id"]: hit["probability"]
        for hit in post(text="blue", id="AB-1", photo_weight=1)["hits"]
    }
    shown = {
        hit["id"]: hit["probability"] for hit in post(text="red", id="AB-1", photo_weight=1)["hits"]
    }
    assert alike["AB-1"] < 0.01 < 0.8 < shown["AB-1"]


def test_links_explain_what_the_photo_gave(post: Post) -> None:
    (part,) = post(text="xqzt", id="AB-1", photo_weight=1)["hits"][0]["parts"]
    assert part["kind"] == "likeness"
    assert part["links"][0]["label"] == "whole photo"


def test_a_filter_holds_for_what_the_photo_finds(post: Post) -> None:
    found = post(text="blue", id="AB-1", photo_weight=1, filter={"brand": "Ikea"})
    assert (ids(found), found["total"]) == (["AB-4"], 1)
    assert post(text="blue", id="AB-1", photo_weight=1, filter={"price": 30.5})["total"] == 0


def test_what_min_probability_is_compared_with_is_documented(client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    about = schemas["ProductSearch"]["properties"]["min_probability"]["description"]
    assert "`probability`, the smaller of both, can be below it" in about
