"""Photos of a series are one hit, in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.routes.photos.asking import ask

Png = Callable[..., bytes]
SERIES = {
    "dawn 1": (["red"], "x"),
    "dawn 2": (["red"], "x"),
    "dawn 3": (["red", "red", "red", "lime"], "x"),
    "noon": (["red"], None),
    "dusk 1": (["red"], "y"),
    "dusk 2": (["blue"], "y"),
    "sea": (["blue"], None),
}
RED = {"text": "red", "collapse": "series"}


@pytest.fixture
def photos(calibrated: TestClient, png: Png) -> TestClient:
    """A calibrated service with two series, one of them partly red."""
    for hour, (name, (colours, series)) in enumerate(SERIES.items()):
        metadata: dict[str, Any] = {"taken": f"2019-08-04T{hour:02}:00:00", "hour": hour}
        metadata |= {"series": series} if series else {}
        sent = {"metadata": json.dumps(metadata)}
        stored = calibrated.put(f"/items/{name}", data=sent, files={"image": png(*colours)})
        assert stored.status_code == 201
    return calibrated


def shown(answer: dict[str, Any]) -> list[tuple[str, int]]:
    return [(hit["id"], hit["variants"]) for hit in answer["hits"]]


def test_the_best_of_each_series_is_a_hit_with_the_number_of_all(photos: TestClient) -> None:
    answer = ask(photos, **RED)
    assert shown(answer) == [("dawn 1", 3), ("dusk 1", 2), ("noon", 1), ("sea", 1)]
    assert (answer["groups"], answer["total"]) == (4, None)
    assert len(ask(photos, text="red")["hits"]) == len(SERIES)
    assert ask(photos, text="red")["groups"] is None


def test_pages_of_series_are_the_whole_list(photos: TestClient) -> None:
    pages, cursor = [], None
    while True:
        answer = ask(photos, **RED, limit=1, **({"cursor": cursor} if cursor else {}))
        pages += shown(answer)
        if not (cursor := answer["cursor"]):
            break
    assert pages == shown(ask(photos, **RED))
    first = ask(photos, **RED, limit=1)["cursor"]
    refused = photos.post("/search/image", json={"text": "red", "cursor": first})
    assert refused.status_code == 422


def test_probable_photos_alone_are_counted_with_a_probability(photos: TestClient) -> None:
    answer = ask(photos, **RED, min_probability=0.5)
    assert [hit for hit in shown(answer) if hit[0] != "dawn 1"] == [("dusk 1", 1), ("noon", 1)]
    assert answer["groups"] == 3
    everything = ask(photos, text="red", min_probability=0.5, facets=["series"])
    assert answer["total"] == everything["total"] == sum(hit[1] for hit in shown(answer))


@pytest.mark.parametrize("text", ["red", None])
@pytest.mark.parametrize("collapse", ["series", None])
def test_a_facet_counts_what_its_values_as_filters_show(
    photos: TestClient, text: str | None, collapse: str | None
) -> None:
    asked = {"text": text, "collapse": collapse}
    facets = ["series", {"key": "hour", "bounds": [2, 4]}, {"key": "taken", "by": "day"}]

    def count(where: dict[str, Any]) -> int:
        answer = ask(photos, **asked, filter=where, facets=["hour"])
        return int(answer["groups"] if collapse else answer["total"])

    answer = ask(photos, **asked, facets=facets)
    for facet in answer["facets"]:
        key = facet["key"]
        for value in facet["values"]:
            assert value["count"] == count({key: value["value"]})
        assert facet["missing"] == count({key: {"exists": False}})
        for part in facet["ranges"]:
            bounds = {"gte": part["start"], "lt": part["end"]}
            named = {name: bound for name, bound in bounds.items() if bound is not None}
            assert part["count"] == count({key: named})
        for date in facet["dates"]:
            assert date["count"] == count({key: date["filter"]})


def test_an_unknown_word_finds_nothing_in_any_list(photos: TestClient) -> None:
    for more in ({}, {"collapse": "series"}, {"facets": ["hour"]}, {"sort": {"key": "hour"}}):
        answer = ask(photos, text="собака", filter={"hour": {"gte": 1}}, **more)
        assert (answer["hits"], answer["cursor"]) == ([], None)
        assert answer["groups"] == (0 if "collapse" in more else None)
        assert answer["total"] == (0 if {"facets", "sort"} & more.keys() else None)
        assert [facet["values"] for facet in answer["facets"] or []] == [[]] * ("facets" in more)
        assert "собака" in answer["query"]["notes"][0]


def test_by_date_the_newest_of_each_series_is_a_hit(photos: TestClient) -> None:
    newest = {"key": "taken", "order": "desc"}
    answer = ask(photos, sort=newest, collapse="series", limit=3)
    assert shown(answer) == [("sea", 1), ("dusk 2", 2), ("noon", 1)]
    assert (answer["groups"], answer["total"]) == (4, 7)
    rest = ask(photos, sort=newest, collapse="series", cursor=answer["cursor"])
    assert shown(rest) == [("dawn 3", 3)]


def test_a_filter_is_passed_by_photos_of_a_series(photos: TestClient) -> None:
    answer = ask(photos, **RED, filter={"hour": {"gte": 1}})
    assert shown(answer)[0] == ("dawn 2", 2)
    assert len(ask(photos, text="red", filter={"series": "x"})["hits"]) == 3


def test_without_any_value_of_the_key_every_photo_is_a_hit(photos: TestClient) -> None:
    answer = ask(photos, text="red", collapse="shop")
    assert {hit["variants"] for hit in answer["hits"]} == {1}
    assert answer["groups"] == len(answer["hits"]) == 7
