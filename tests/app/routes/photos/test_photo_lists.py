"""Photos in the order of their dates, and counted, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from index.search.requests import Request
from index.search.scanner import Scanner
from tests.app.routes.photos.asking import ask, ids

Png = Callable[..., bytes]
TAKEN = {
    "beach": ("red", "2019-08-04T15:22:10+01:00", "Lisbon"),
    "tram": ("red", "2019-08-05T09:00:00+01:00", "Lisbon"),
    "cake": ("red", "2021-06-30T20:15:00+02:00", "Berlin"),
    "tree": ("lime", "2019-08-04T10:00:00+01:00", "Lisbon"),
    "snow": ("blue", "2021-12-24T18:00:00", "Oslo"),
}


@pytest.fixture
def photos(calibrated: TestClient, png: Png) -> TestClient:
    """A calibrated service with photos of different days, one without a date."""
    for name, (colour, taken, city) in TAKEN.items():
        metadata = json.dumps({"taken": taken, "city": city, "rating": len(name)})
        sent = {"data": {"metadata": metadata}, "files": {"image": png(colour)}}
        assert calibrated.put(f"/items/{name}", **sent).status_code == 201
    assert calibrated.put("/items/scan", files={"image": png("red")}).status_code == 201
    assert calibrated.put("/items/words", json={"sentences": ["a red wall"]}).status_code == 201
    return calibrated


NEWEST = {"key": "taken", "order": "desc"}


def test_probable_photos_come_by_date_and_those_without_one_last(photos: TestClient) -> None:
    answer = ask(photos, text="red", sort=NEWEST)
    assert ids(answer) == ["cake", "tram", "beach", "scan"]
    assert answer["total"] == 4
    assert answer["searched"]["exact"]
    assert ids(ask(photos, text="red", sort={"key": "taken"})) == ["beach", "tram", "cake", "scan"]


def test_a_sorted_hit_is_explained_as_a_ranked_one(photos: TestClient) -> None:
    ranked = {hit["id"]: hit for hit in ask(photos, text="red")["hits"]}
    for hit in ask(photos, text="red", sort=NEWEST)["hits"]:
        assert hit == ranked[hit["id"]]
        assert sum(link["similarity"] for link in hit["links"]) == pytest.approx(hit["score"])


def test_pages_by_date_are_the_whole_list(photos: TestClient) -> None:
    first = ask(photos, text="red", sort=NEWEST, limit=3)
    second = ask(photos, text="red", sort=NEWEST, limit=3, cursor=first["cursor"])
    assert ids(first) + ids(second) == ["cake", "tram", "beach", "scan"]
    assert second["cursor"] is None
    refused = photos.post("/search/image", json={"text": "red", "cursor": first["cursor"]})
    assert refused.status_code == 422
    assert "another query" in refused.json()["detail"]


def test_facets_count_all_probable_photos_however_few_are_shown(photos: TestClient) -> None:
    answer = ask(photos, text="red", facets=["city"], limit=1)
    assert len(answer["hits"]) == 1
    assert answer["total"] == 4
    (city,) = answer["facets"]
    assert city["values"] == [{"value": "Lisbon", "count": 2}, {"value": "Berlin", "count": 1}]
    assert city["missing"] == 1
    assert answer["min_probability"] == answer["weak_below"]


def test_a_counted_search_looks_at_all_photos_once(
    photos: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = list[bool]()
    scan = Scanner.scan

    def note(scanner: Scanner, request: Request, *arguments: Any) -> Any:
        exact.append(request.exact)
        return scan(scanner, request, *arguments)

    monkeypatch.setattr(Scanner, "scan", note)
    assert ask(photos, text="red", facets=["city"])["total"] == 4
    assert exact.count(True) == 1


@pytest.mark.parametrize("by", ["year", "month", "day"])
def test_each_period_of_a_facet_is_a_filter_for_what_it_counted(
    photos: TestClient, by: str
) -> None:
    (taken,) = ask(photos, text="red", facets=[{"key": "taken", "by": by}])["facets"]
    assert taken["by"] == by
    for period in taken["dates"]:
        only = ask(photos, text="red", sort=NEWEST, filter={"taken": period["filter"]})
        assert only["total"] == len(only["hits"]) == period["count"]
    assert sum(period["count"] for period in taken["dates"]) == 3


@pytest.mark.parametrize("asked", [{"text": "red"}, {"text": "red", "sort": NEWEST}, {}])
def test_a_facet_by_months_of_no_dates_is_named(photos: TestClient, asked: dict[str, Any]) -> None:
    facets = [{"key": key, "by": "month"} for key in ("city", "taken")]
    answer = ask(photos, facets=facets, **asked)
    assert answer["query"]["notes"] == ["facets: 'city' has no dates to count by month."]
    assert answer["facets"][0]["values"]


def test_the_calendar_is_by_local_days(photos: TestClient) -> None:
    (taken,) = ask(photos, facets=[{"key": "taken", "by": "day"}])["facets"]
    days = {period["value"]: period["count"] for period in taken["dates"]}
    assert days == {"2019-08-04": 2, "2019-08-05": 1, "2021-06-30": 1, "2021-12-24": 1}


def test_without_a_query_all_photos_are_browsed(photos: TestClient) -> None:
    answer = ask(photos, sort=NEWEST, facets=["city"])
    assert ids(answer) == ["snow", "cake", "tram", "beach", "tree", "scan"]
    assert answer["total"] == 6  # not the item that has words alone
    first = answer["hits"][0]
    assert (first["score"], first["probability"], first["links"]) == (0, None, [])
    assert photos.get(first["image"]).status_code == 200
    assert ids(ask(photos, sort=NEWEST, filter={"city": "Lisbon"})) == ["tram", "beach", "tree"]
    assert ids(ask(photos, sort=NEWEST, filter={"taken": {"gte": "2021", "lt": "2021-07"}})) == [
        "cake"
    ]


def test_changes_are_counted_at_once(photos: TestClient, png: Png) -> None:
    photos.delete("/items/tram")
    photos.put("/items/beach", files={"image": png("blue")})
    assert ids(ask(photos, text="red", sort=NEWEST)) == ["cake", "scan"]


def test_a_photo_is_searched_with_in_any_order(photos: TestClient) -> None:
    answer = ask(photos, id="beach", sort=NEWEST, min_probability=0.0)
    assert answer["total"] == 6
    assert ids(answer)[0] == "snow"


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ({"sort": {"order": "desc"}}, "key"),
        ({"sort": NEWEST, "min_probability": 0.5}, "min_probability: it needs a query"),
        ({"sort": NEWEST, "box": [0, 0, 1, 1]}, "box"),
        ({"facets": [{"key": "taken", "by": "week"}]}, "'year', 'month' or 'day'"),
        ({}, "got none"),
        ({"filter": {"city": "Lisbon"}}, "got a filter alone, which lists photos with `sort` or"),
    ],
)
def test_mistakes_say_what_would_work(photos: TestClient, sent: dict[str, Any], wrong: str) -> None:
    answer = photos.post("/search/image", json=sent)
    assert answer.status_code == 422
    assert wrong in json.dumps(answer.json())


def test_an_unknown_key_is_named(photos: TestClient) -> None:
    notes = ask(photos, text="red", sort={"key": "take"})["query"]["notes"]
    assert any("No item has 'take'" in note and "'taken'" in note for note in notes)


def test_uncalibrated_photos_are_browsed_but_not_counted_for_a_text(
    client: TestClient, png: Png
) -> None:
    client.put("/items/beach", files={"image": png("red")})
    assert ids(ask(client, sort=NEWEST)) == ["beach"]
    answer = client.post("/search/image", json={"text": "red", "sort": NEWEST})
    assert answer.status_code == 422
    assert "tessera calibrate" in answer.json()["detail"]


def test_a_date_in_the_text_is_a_filter_that_can_be_refused(photos: TestClient) -> None:
    answer = ask(photos, text="red in August 2019")
    assert ids(answer) == ["beach", "tram", "tree"]
    assert answer["query"]["text"] == "red in August 2019"
    assert answer["query"]["filters"] == [
        {
            "text": "in August 2019",
            "span": [4, 18],
            "filter": {"taken": {"gte": "2019-08-01", "lt": "2019-09-01"}},
            "words": "August 2019",
        }
    ]
    assert [phrase["text"] for phrase in answer["hits"][0]["phrases"]] == ["red"]
    refused = ask(photos, text="red in August 2019", dates=False)
    assert len(refused["hits"]) == 6
    assert refused["query"]["filters"] == []


def test_a_date_alone_lists_its_photos_newest_first(photos: TestClient) -> None:
    answer = ask(photos, text="2019")
    assert ids(answer) == ["tram", "beach", "tree"]
    assert answer["total"] == 3
    assert ids(ask(photos, text="2019", limit=2, cursor=None))[:2] == ["tram", "beach"]
    assert ids(ask(photos, text="2019", filter={"city": "Oslo"})) == []
    assert ids(ask(photos, text="2019", id="cake", photo_weight=0.5))[0] in ("tram", "beach")


@pytest.mark.parametrize("text", ["photos from 2019", "my pictures taken in 2019", "all of 2019"])
def test_words_for_photos_say_nothing_next_to_a_date(photos: TestClient, text: str) -> None:
    answer = ask(photos, text=text)
    assert (ids(answer), answer["total"]) == (["tram", "beach", "tree"], 3)


@pytest.mark.parametrize("text", ["camera 2019", "not photos 2019", "the who 2019"])
def test_other_words_next_to_a_date_are_searched(photos: TestClient, text: str) -> None:
    answer = ask(photos, text=text)
    assert answer["query"]["fragments"]
    assert answer["query"]["filters"]


def test_a_negated_date_leaves_its_photos_out(photos: TestClient) -> None:
    answer = ask(photos, text="photos, but not from 2019", sort=NEWEST)
    assert ids(answer) == ["snow", "cake", "scan"]
    (date,) = answer["query"]["filters"]
    assert date["filter"] == {"$not": {"taken": {"gte": "2019-01-01", "lt": "2020-01-01"}}}
    assert (date["text"], date["words"]) == ("but not from 2019", "not 2019")


def test_pages_of_a_dated_search_are_the_whole_list(photos: TestClient) -> None:
    first = ask(photos, text="red 2019", limit=2)
    second = ask(photos, text="red 2019", limit=2, cursor=first["cursor"])
    assert ids(first) + ids(second) == ids(ask(photos, text="red 2019"))


def test_without_dated_photos_a_year_is_a_word(client: TestClient, png: Png) -> None:
    client.put("/items/beach", files={"image": png("red")})
    answer = ask(client, text="red 2019")
    assert (ids(answer), answer["query"]["filters"]) == (["beach"], [])
