"""Product search over HTTP: one ranking, and facets."""

from __future__ import annotations

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from index.documents.corrections import Corrections
from index.documents.query_words import Wording
from index.products.requests import LIKELY
from models.scores.calibration import Calibration
from tests.shops import SHOP, Post, ids


def test_parts_add_up_to_the_score(post: Post) -> None:
    boosts = [{"weight": 0.2, "key": "price"}, {"weight": 0.1, "filter": {"brand": "Nike"}}]
    found = post(text="red summer dress", boosts=boosts, min_probability=0.1)
    assert ids(found)[0] == "AB-1"
    for hit in found["hits"]:
        assert sum(part["gave"] for part in hit["parts"]) == pytest.approx(hit["score"])
    kinds = {part["kind"] for hit in found["hits"] for part in hit["parts"]}
    assert kinds == {"words", "looks", "boost"}


def test_looks_are_explained_by_links_that_add_up_to_the_photos_score(post: Post) -> None:
    (looks,) = [part for part in post(text="red")["hits"][0]["parts"] if part["kind"] == "looks"]
    assert [(link["label"], link["similarity"]) for link in looks["links"]] == [
        ("red", pytest.approx(3.0, abs=0.02))
    ]
    assert [phrase["text"] for phrase in looks["phrases"]] == ["red"]


def test_photo_alone_makes_an_item_relevant(post: Post) -> None:
    found = post(text="red")
    assert sorted(ids(found)) == ["AB-1", "AB-4"]
    assert all(hit["probability"] > 0.5 for hit in found["hits"])


def test_typed_id_brand_and_title_come_first(post: Post) -> None:
    assert ids(post(text="AB-3"))[0] == "AB-3"
    assert ids(post(text="sofa"))[0] == "AB-6"
    exact = [part["field"] for part in post(text="sofa")["hits"][0]["parts"]]
    assert exact[:2] == ["title", "title"]
    assert set(ids(post(text="nike"))) == {"AB-1", "AB-2"}


def test_a_facet_by_months_of_no_dates_is_named(post: Post) -> None:
    note = "facets: 'brand' has no dates to count by month."
    facets = ["price", {"key": "brand", "by": "month"}]
    assert note in post(text="sofa", facets=facets)["query"]["notes"]
    assert post(text="sofa", facets=["brand"])["query"]["notes"] == []


@pytest.mark.parametrize(
    ("typed", "corrected", "first"),
    [
        ("chiar", "chair", "AB-3"),
        ("book case", None, "AB-4"),
        ("couch", None, "AB-6"),
        ("dresses", None, "AB-1"),
        ("sofa", None, "AB-6"),
        ("sofa -leather", "sofa without leather", "AB-6"),
    ],
)
def test_words_are_found_as_they_are_meant(
    post: Post, typed: str, corrected: str | None, first: str
):
    found = post(text=typed)
    assert found["query"]["corrected"] == corrected
    assert ids(found)[0] == first


def test_others_search_while_the_words_of_one_are_corrected(
    shop: TestClient, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrections, others = Wording.corrections, list[Any]()

    def meanwhile(wording: Wording, text: str) -> Corrections:
        if "chiar" in text:
            with ThreadPoolExecutor() as pool:
                others.append(pool.submit(post, text="sofa").result(30))
        return corrections(wording, text)

    monkeypatch.setattr(Wording, "corrections", meanwhile)
    assert ids(post(text="chiar"))[0] == "AB-3"
    assert shop.get("/suggest", params={"text": "chiar o"}).json()["suggestions"]
    assert [ids(found)[0] for found in others] == ["AB-6", "AB-6"]


def test_a_note_says_that_not_all_of_many_unknown_words_are_corrected(post: Post) -> None:
    text = " ".join(f"zzzz{letter}" for letter in "abcdefghijk")
    note = "No more than 10 unknown words are corrected."
    assert note in post(text=f"{text} chiar")["query"]["notes"]
    few = post(text=f"chiar {text[:50]}")["query"]
    assert (few["words"][0]["spelling"], note in few["notes"]) == ("chair", False)


def test_a_huge_text_is_refused_whatever_it_is_asked_of(shop: TestClient) -> None:
    sent = {"text": "oak " * 201, "weights": {"looks": 0, "meaning": 0}}
    refused = shop.post("/search/products", json=sent)
    assert (refused.status_code, "at most 200 words" in refused.json()["detail"]) == (422, True)


def test_words_behind_a_minus_or_negated_are_refused(post: Post) -> None:
    for text in ("sofa -leather", "sofa without leather"):
        found = post(text=text)
        assert ids(found) == ["AB-6"]
        assert [word["text"] for word in found["query"]["refused"]] == ["leather"]
        assert 'Items with "leather" are left out.' in found["query"]["notes"]


def test_a_text_that_only_negates_leaves_out_and_ranks_the_rest_by_their_photos(post: Post) -> None:
    for text in ("-red -sofa", "-sofa without red"):
        found = post(text=text)
        assert sorted(ids(found)) == ["AB-1", "AB-2", "AB-3", "AB-4"]
        assert set(ids(found)[:2]) == {"AB-2", "AB-3"}
        probabilities = [hit["probability"] for hit in found["hits"]]
        assert probabilities == sorted(probabilities, reverse=True)
        for hit in found["hits"]:
            (looks,) = hit["parts"]
            assert looks["gave"] == pytest.approx(hit["score"])
        assert [word["text"] for word in found["query"]["refused"]] in (
            ["red", "sofa"],
            ["sofa", "red"],
        )
        assert post(text=text, weights={"looks": 0})["total"] == 4


def test_what_items_are_named_is_no_negation(shop: TestClient, post: Post) -> None:
    shop.put("/items/S", json={"metadata": {"title": "No show socks"}, "sentences": ["a"]})
    found = post(text="no show socks")
    assert ids(found) == ["S"]
    assert found["query"]["notes"] == ['Items are named "no show": it is searched for.']
    assert "S" not in ids(post(text="not socks"))


def test_half_of_the_words_is_enough_where_none_has_all(post: Post) -> None:
    assert set(ids(post(text="ikea dress bookcase", weights={"looks": 0}))) == {"AB-4"}
    unknown = post(text="sofa xylophone")
    assert set(ids(unknown)) == {"AB-5", "AB-6"}
    assert '"xylophone" is in no item.' in unknown["query"]["notes"]


def test_without_a_text_everything_that_passes_is_sorted(post: Post) -> None:
    found = post(filter={"price": {"gte": 20}}, sort={"key": "price", "order": "desc"})
    assert ids(found) == ["AB-6", "AB-4", "AB-3", "AB-2"]
    assert ids(post(sort={"key": "price"})) == ["AB-1", "AB-2", "AB-3", "AB-4", "AB-6", "AB-5"]
    assert ids(post(sort={"key": "title"}))[:2] == ["AB-3", "AB-4"]


@pytest.mark.parametrize(
    "where",
    [{}, {"brand": "Ikea"}, {"price": {"lt": 50}}, {"$not": {"brand": ["Nike", "Acme"]}}],
)
def test_facets_count_all_that_is_relevant_and_passes(post: Post, where: dict[str, Any]) -> None:
    asked = ["brand", "tags", {"key": "price", "bounds": [20, 50]}]
    found = post(text="sofa oak", weights={"looks": 0}, filter=where, facets=asked, limit=1)
    everything = post(text="sofa oak", weights={"looks": 0}, filter=where)
    items = [hit["metadata"] for hit in everything["hits"]]
    assert found["total"] == len(items)
    for facet in found["facets"]:
        values = [item[facet["key"]] for item in items if facet["key"] in item]
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        counted = {one["value"]: one["count"] for one in facet["values"]}
        assert counted == Counter(flat)
        assert facet["missing"] == len(items) - len(values)
    price = found["facets"][2]
    prices = [item["price"] for item in items if "price" in item]
    assert (price["least"], price["most"]) == (min(prices), max(prices))
    assert [one["count"] for one in price["ranges"]] == [
        sum(one < 20 for one in prices),
        sum(20 <= one < 50 for one in prices),
        sum(one >= 50 for one in prices),
    ]


def test_collapsed_hits_are_the_best_of_their_groups(post: Post) -> None:
    found = post(text="blue summer dress", collapse="group", limit=1)
    assert [(hit["id"], hit["variants"]) for hit in found["hits"]] == [("AB-2", 2)]
    assert (found["total"], found["groups"]) == (2, 1)
    assert post(collapse="group")["groups"] == 5


def test_pages_follow_one_another(post: Post) -> None:
    seen, cursor = [], None
    while True:
        found = post(limit=4, cursor=cursor, sort={"key": "brand"})
        seen += ids(found)
        cursor = found["cursor"]
        if cursor is None:
            break
    assert seen == ids(post(sort={"key": "brand"}))


def test_cursor_of_another_query_is_refused(shop: TestClient, post: Post) -> None:
    cursor = post(limit=1)["cursor"]
    sent = {"limit": 1, "cursor": cursor, "filter": {"brand": "Nike"}}
    answer = shop.post("/search/products", json=sent)
    assert answer.status_code == 422
    assert "another query" in answer.json()["detail"]


def test_photo_is_searched_by_looks_alone(shop: TestClient, post: Post, png: Any) -> None:
    assert ids(post(id="AB-1"))[:2] == ["AB-1", "AB-4"]
    sent = {"filter": '{"brand": "Ikea"}', "facets": '["brand"]'}
    answer = shop.post("/search/products", files={"image": png("red")}, data=sent)
    assert ids(answer.json()) == ["AB-4"]
    assert answer.json()["facets"][0]["values"] == [{"value": "Ikea", "count": 1}]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (
            {"text": "a", "id": "AB-1"},
            "got text and id",
        ),
        ({"boosts": [{"weight": 0.1}]}, "either a key or a filter"),
        ({"filter": {"price": {"above": 3}}}, "takes gt, gte"),
        ({"box": [0, 0, 1, 1]}, "send an id or an image"),
        ({"sort": "price"}, "sort"),
        ({"boosts": [{"weight": 5, "key": "price"}]}, "boosts"),
    ],
)
def test_odd_requests_are_refused(shop: TestClient, sent: dict[str, Any], reason: str) -> None:
    answer = shop.post("/search/products", json=sent)
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/search/products", "/search/image", "/search/text"])
def test_unknown_key_is_told_with_the_nearest(shop: TestClient, path: str) -> None:
    found = shop.post(path, json={"text": "red", "filter": {"prise": 3}}).json()
    assert found["hits"] == []
    note = "No item has 'prise' in its metadata; the nearest key is 'price'."
    assert note in found["query"]["notes"]


def test_unknown_facet_is_told_even_where_there_are_hits(post: Post) -> None:
    found = post(text="sofa", facets=["brnd"])
    assert found["hits"]
    assert found["facets"][0]["values"] == []
    assert (
        "No item has 'brnd' in its metadata; the nearest key is 'brand'."
        in (found["query"]["notes"])
    )


def test_what_is_written_is_found_at_once(shop: TestClient, post: Post) -> None:
    post()
    stored = {"metadata": {"title": "Zebra rug"}}
    assert shop.put("/items/new", json=stored).status_code in (201, 422)
    sent = {"metadata": {"title": "Zebra rug"}, "sentences": ["soft"]}
    assert shop.put("/items/new", json=sent).status_code in (200, 201)
    assert ids(post(text="zebra")) == ["new"]
    assert shop.delete("/items/new").status_code == 204
    assert ids(post(text="zebra rug")) == []


def test_suggestions_complete_words_by_the_items_they_find(shop: TestClient) -> None:
    def suggest(text: str) -> list[tuple[str, int]]:
        found = shop.get("/suggest", params={"text": text}).json()["suggestions"]
        return [(one["text"], one["items"]) for one in found]

    assert suggest("s") == [("sofa", 2), ("summer dress", 2), ("sofa of leather", 1)]
    assert suggest("ikea s") == [("ikea sofa of leather", 1)]
    assert suggest("zzz") == suggest("") == []


def test_words_alone_count_without_a_calibration(client: TestClient) -> None:
    sent = {"metadata": {"title": "Red hat"}, "sentences": ["warm"]}
    client.put("/items/hat", json=sent)
    found = client.post("/search/products", json={"text": "hat"}).json()
    assert ids(found) == ["hat"]
    assert "not calibrated" in " ".join(found["query"]["notes"])
    assert client.post("/search/products", json={"id": "hat"}).status_code in (404, 422)


def test_the_best_photo_of_an_item_is_shown(shop: TestClient, post: Post, png: Any) -> None:
    photos = [("image", png(colour)) for colour in ("white", "yellow")]
    shop.put("/items/AB-7", files=photos, data={"metadata": '{"title": "Boot"}'})
    hit = next(hit for hit in post(text="yellow boot")["hits"] if hit["id"] == "AB-7")
    assert (hit["photo"], hit["image"]) == (1, "/items/AB-7/image?photo=1")
    assert sum(part["gave"] for part in hit["parts"]) == pytest.approx(hit["score"])


def test_a_sentence_answers_a_word_that_no_item_has(shop: TestClient, post: Post) -> None:
    about = {"metadata": {"title": "Rug"}, "sentences": ["red wool"]}
    shop.put("/items/rug", json=about)
    (hit,) = (one for one in post(text="crimson")["hits"] if one["id"] == "rug")
    (part,) = hit["parts"]
    assert (part["kind"], part["field"], hit["probability"]) == ("meaning", "sentences", None)
    assert hit["score"] == part["gave"]
    (link,) = part["links"]
    assert (link["label"], link["span"]) == ("red", [0, 3])
    crimson = (220 / 127.5 - 1, 20 / 127.5 - 1, 60 / 127.5 - 1)
    cosine = (crimson[0] - crimson[1] - crimson[2]) / math.hypot(*crimson) / math.sqrt(3)
    assert link["similarity"] == pytest.approx(cosine, abs=0.01)  # with red's (1, -1, -1)
    assert part["gave"] == pytest.approx(0.2 / (1 + math.exp(4 * math.acos(cosine) - 2)), abs=0.01)
    assert "rug" not in ids(post(text="crimson", weights={"meaning": 0}))
    assert "rug" not in ids(post(text="white"))  # which is no item's word either, and no rug's


def test_without_probabilities_of_texts_no_sentence_is_asked(
    shop: TestClient, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.put("/items/rug", json={"metadata": {"title": "Rug"}, "sentences": ["red wool"]})
    monkeypatch.setattr(Calibration, "compares_texts", False)
    found = post(text="crimson")
    assert "rug" not in ids(found)
    assert "tessera calibrate --texts" in " ".join(found["query"]["notes"])


def test_a_word_that_items_have_or_nobody_knows_asks_no_sentence(post: Post, shop: TestClient):
    shop.put("/items/rug", json={"metadata": {"title": "Rug"}, "sentences": ["red wool"]})
    for text in ("summer", "chiar", "book case", "xqzt"):
        kinds = {part["kind"] for hit in post(text=text)["hits"] for part in hit["parts"]}
        assert "meaning" not in kinds


def test_a_group_is_shown_by_the_best_photo_of_its_best_item(
    shop: TestClient, post: Post, png: Any
) -> None:
    for name, colours in {"V-1": ("white", "lime"), "V-2": ("navy", "black", "yellow")}.items():
        about = '{"title": "Boot", "group": "boots"}'
        photos = [("image", png(colour)) for colour in colours]
        shop.put(f"/items/{name}", files=photos, data={"metadata": about})
    for colour, best in {"yellow": ("V-2", 2), "lime": ("V-1", 1)}.items():
        found = post(text=f"{colour} boot", collapse="group", min_probability=1)
        shown = [hit for hit in found["hits"] if hit["metadata"].get("group") == "boots"]
        assert [(hit["id"], hit["photo"], hit["variants"]) for hit in shown] == [(*best, 2)]


@pytest.mark.parametrize("text", ["", " ", " \t\n"])
def test_blank_text_browses(post: Post, text: str) -> None:
    assert post(text=text)["total"] == len(SHOP)


def test_the_default_call_counts_what_the_page_shows(post: Post) -> None:
    found = post(text="red", facets=["brand"])
    assert found["min_probability"] == LIKELY > found["weak_below"]
    strict = post(text="red", facets=["brand"], min_probability=LIKELY)
    loose = post(text="red", facets=["brand"], min_probability=0)
    assert (found["total"], found["facets"]) == (strict["total"], strict["facets"])
    assert found["total"] < loose["total"]
    assert loose["min_probability"] == 0
    assert post(id="AB-1")["min_probability"] == found["weak_below"]
    assert post()["min_probability"] == found["weak_below"]


def test_what_breaks_in_a_search_is_no_mistake_of_the_caller(
    shop: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Wording, *_: object) -> None:
        [].index(self)  # type: ignore[arg-type]

    monkeypatch.setattr(Wording, "read", fail)
    answer = shop.post("/search/products", json={"text": "red"})
    assert (answer.status_code, answer.json()["type"]) == (500, "urn:tessera:problem:unexpected")
