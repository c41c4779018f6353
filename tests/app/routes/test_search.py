"""Searches over HTTP find the right items, with proofs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

Png = Callable[..., bytes]


@pytest.fixture
def filled(client: TestClient, png: Png) -> TestClient:
    for name, colours in {"r": ["red"], "g": ["lime"], "rb": ["red", "blue"]}.items():
        fields = {
            "metadata": json.dumps({"parts": len(colours)}),
            "sentences": f"{colours[-1]} it is",
        }
        answer = client.put(f"/items/{name}", files={"image": png(*colours)}, data=fields)
        assert answer.status_code == 201
    return client


def ids(answer: dict) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def test_text_finds_the_photo_and_says_which_word_saw_what(filled: TestClient) -> None:
    answer = filled.post("/search/image", json={"text": "red, then blue"}).json()
    assert ids(answer)[0] == "rb"
    best = answer["hits"][0]
    assert [link["label"] for link in best["links"]] == ["red", "then", "blue"]
    assert best["links"][0]["span"] == [0, 3]
    assert best["links"][0]["box"] == [0, 0, 0.5, 0.5]
    assert best["links"][2]["box"] == [0.5, 0, 1, 0.5]
    assert (best["width"], best["height"], best["metadata"]) == (40, 30, {"parts": 2})
    assert filled.get(best["image"]).headers["content-type"] == "image/jpeg"
    assert answer["query"]["fragments"][2] == {"label": "blue", "span": [10, 14], "box": None}


def test_a_hit_says_what_the_whole_photo_gave_and_what_regions_added(filled: TestClient) -> None:
    best = filled.post("/search/image", json={"text": "the red"}).json()["hits"][0]
    assert best["id"] == "r"
    for part in best["links"] + best["phrases"]:
        assert part["whole"] + part["added"] == pytest.approx(part["similarity"])
    assert [phrase["text"] for phrase in best["phrases"]] == ["the red"]
    assert best["phrases"][0]["box"] is None
    hits = filled.post("/search/image", json={"text": "the red, then blue"}).json()["hits"]
    told = {hit["id"]: hit["phrases"] for hit in hits}["rb"]
    assert [phrase["text"] for phrase in told] == ["the red", "then blue"]
    assert [phrase["span"] for phrase in told] == [[0, 7], [9, 18]]
    assert [phrase["box"] for phrase in told] == [[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5]]


def test_sentences_have_phrases_and_similar_photos_have_none(filled: TestClient, png: Png) -> None:
    asked = {"image": png("black", "lime")}
    hit = filled.post("/search/text", files=asked).json()["hits"][0]
    assert [phrase["text"] for phrase in hit["phrases"]] == ["lime it is"]
    assert hit["phrases"][0]["box"] == [0.5, 0, 1, 0.5]
    hit = filled.post("/search/text", json={"text": "so blue"}).json()["hits"][0]
    assert [(one["text"], one["box"]) for one in hit["phrases"]] == [("so blue", None)]
    assert filled.post("/search/image", files=asked).json()["hits"][0]["phrases"] == []


@pytest.mark.parametrize("path", ["/search/image", "/search/text"])
@pytest.mark.parametrize("way", ["text", "image"])
def test_links_add_up_to_the_score(filled: TestClient, png: Png, path: str, way: str) -> None:
    sent = (
        {"json": {"text": "blue and lime"}} if way == "text" else {"files": {"image": png("red")}}
    )
    hits = filled.post(path, **sent).json()["hits"]
    assert len(hits) == 3
    for hit in hits:
        assert sum(link["similarity"] for link in hit["links"]) == pytest.approx(hit["score"])
        if way == "text" or path == "/search/text":
            parts = hit["phrases"]
            assert sum(part["similarity"] for part in parts) == pytest.approx(hit["score"])


def test_photo_finds_sentences_with_spans_in_them_and_boxes_in_the_query(
    filled: TestClient, png: Png
) -> None:
    answer = filled.post("/search/text", files={"image": png("black", "lime")}).json()
    hit = answer["hits"][0]
    assert (hit["id"], hit["sentence"], hit["position"]) == ("g", "lime it is", 0)
    assert hit["links"][0]["span"] == [0, 4]
    assert hit["links"][0]["box"] == [0.5, 0, 1, 0.5]


def test_text_finds_sentences_with_spans_in_them(filled: TestClient) -> None:
    hit = filled.post("/search/text", json={"text": "so blue"}).json()["hits"][0]
    assert hit["sentence"] == "blue it is"
    assert hit["links"][1] == hit["links"][1] | {"label": "blue", "span": [0, 4], "box": None}


def test_photo_finds_photos_like_it(filled: TestClient, png: Png) -> None:
    uploaded = filled.post("/search/image", files={"image": png("lime")}).json()
    stored = filled.post("/search/image", json={"id": "g"}).json()
    assert ids(uploaded)[0] == ids(stored)[0] == "g"


def test_box_searches_with_a_part_and_gives_boxes_of_the_whole(
    filled: TestClient, png: Png
) -> None:
    photo = {"image": png("red", "lime")}
    answer = filled.post("/search/image", files=photo, data={"box": "0.5,0,1,1"}).json()
    assert ids(answer)[0] == "g"
    assert answer["query"]["fragments"][0]["box"] == [0.5, 0, 1, 1]
    assert answer["query"]["fragments"][2]["box"] == [0.75, 0, 1, 0.5]


def test_phrase_weight_scales_what_the_phrase_gives(filled: TestClient) -> None:
    def shares(weight: float) -> list[float]:
        phrases = [{"text": "red", "weight": weight}, {"text": "some lime"}]
        answer = filled.post("/search/image", json={"phrases": phrases, "limit": 1}).json()
        assert answer["query"]["text"] == "red, some lime"
        assert [f["span"] for f in answer["query"]["fragments"]] == [[0, 3], [5, 9], [10, 14]]
        return {hit["id"]: hit["links"] for hit in answer["hits"]}["r"][0]["similarity"]

    assert shares(10.0) == pytest.approx(2 * shares(5.0))


def test_phrases_find_sentences_too(filled: TestClient) -> None:
    def found(weight: float) -> dict[str, float]:
        phrases = [{"text": "so", "weight": weight}, {"text": "blue", "weight": weight}]
        answer = filled.post("/search/text", json={"phrases": phrases}).json()
        assert answer["query"]["text"] == "so, blue"
        for hit in answer["hits"]:
            assert sum(link["similarity"] for link in hit["links"]) == pytest.approx(hit["score"])
        return {hit["sentence"]: hit["score"] for hit in answer["hits"]}

    plain = {
        hit["sentence"]: hit["score"]
        for hit in filled.post("/search/text", json={"text": "so, blue"}).json()["hits"]
    }
    assert found(1.0) == pytest.approx(plain)
    assert found(3.0) == pytest.approx({sentence: 3 * plain[sentence] for sentence in plain})


def test_words_that_no_model_knows_are_named_and_left_out(filled: TestClient) -> None:
    answer = filled.post("/search/image", json={"text": "asdfgh red 日本"}).json()
    assert [part["label"] for part in answer["query"]["fragments"]] == ["red"]
    assert answer["query"]["text"] == "asdfgh red 日本"
    noise, script = answer["query"]["notes"]
    assert noise == '"asdfgh" is not a word that the model knows: it is left out.'
    assert '"日本"' in script
    assert "only Latin letters" in script
    plain = filled.post("/search/image", json={"text": "red"}).json()["hits"]
    assert [hit["score"] for hit in answer["hits"]] == [hit["score"] for hit in plain]
    assert answer["hits"][0]["links"][0]["span"] == [7, 10]


def test_what_is_negated_comes_later_and_its_links_take_away(filled: TestClient) -> None:
    answer = filled.post("/search/image", json={"text": "red without blue"}).json()
    assert ids(answer)[0] == "r"
    assert answer["query"]["notes"] == ['Negation: photos with "blue" come later.']
    both = {hit["id"]: hit for hit in answer["hits"]}["rb"]
    red, blue = both["links"]
    assert (blue["label"], blue["span"], blue["negated"]) == ("blue", [12, 16], True)
    assert blue["similarity"] < 0 < red["similarity"]
    assert [part["negated"] for part in both["phrases"]] == [False, True]
    assert both["phrases"][1]["box"] == [0.5, 0, 1, 0.5]
    for hit in answer["hits"]:
        for parts in (hit["links"], hit["phrases"]):
            total = sum(part["similarity"] for part in parts)
            assert total == pytest.approx(hit["score"], abs=1e-5)


def test_a_text_that_only_negates_ranks_by_how_little_photos_look_like_it(
    filled: TestClient,
) -> None:
    blue = filled.post("/search/image", json={"text": "blue"}).json()["hits"]
    answer = filled.post("/search/image", json={"text": "no blue"}).json()
    assert ids(answer) == ["g", "r", "rb"]
    scores = {hit["id"]: hit["score"] for hit in blue}
    for hit in answer["hits"]:
        assert hit["score"] == pytest.approx(-0.5 * scores[hit["id"]])
        assert sum(link["similarity"] for link in hit["links"]) == pytest.approx(hit["score"])
        assert all(link["negated"] for link in hit["links"])
    assert answer["hits"][1]["score"] > 0 > answer["hits"][2]["score"]
    assert answer["query"]["notes"] == ['Negation: photos with "blue" come later.']


def test_a_cursor_knows_what_its_query_negates(filled: TestClient) -> None:
    asked = {"text": "red no lime", "limit": 1}
    cursor = filled.post("/search/image", json=asked).json()["cursor"]
    more = filled.post("/search/image", json=asked | {"cursor": cursor})
    assert more.status_code == 200
    other = {"text": "red or lime", "limit": 1, "cursor": cursor}
    assert "another query" in filled.post("/search/image", json=other).json()["detail"]


@pytest.mark.parametrize("path", ["/search/image", "/search/text"])
def test_nothing_is_found_where_no_word_is_known(filled: TestClient, path: str) -> None:
    answer = filled.post(path, json={"text": "asdfgh"}).json()
    assert (answer["hits"], answer["cursor"]) == ([], None)
    assert "No word of the query is known" in answer["query"]["notes"][-1]


def test_stored_sentences_may_have_any_words(client: TestClient) -> None:
    stored = client.put("/items/x", json={"sentences": ["日本 asdfgh red"]})
    assert stored.status_code == 201
    hit = client.post("/search/text", json={"text": "red"}).json()["hits"][0]
    assert hit["sentence"] == "日本 asdfgh red"


def test_without_a_calibration_nobody_says_how_probable_a_hit_is(filled: TestClient) -> None:
    answer = filled.post("/search/image", json={"text": "red"}).json()
    assert answer["weak_below"] is None
    assert {hit["probability"] for hit in answer["hits"]} == {None}
    cut = filled.post("/search/image", json={"text": "red", "min_probability": 0.5})
    assert cut.status_code == 422
    assert "tessera calibrate" in cut.json()["detail"]


def test_filter_lets_through_only_what_it_names(filled: TestClient) -> None:
    body = {"text": "red", "filter": {"parts": [2, 3]}}
    assert ids(filled.post("/search/image", json=body).json()) == ["rb"]
    form = {"filter": '{"parts": 1}', "limit": "1"}
    photo = {"image": filled.get("/items/rb/image").content}
    assert ids(filled.post("/search/image", files=photo, data=form).json()) == ["r"]


def test_cursor_goes_on_where_the_page_ended(filled: TestClient) -> None:
    whole = filled.post("/search/image", json={"text": "red"}).json()
    assert whole["cursor"] is None
    seen, cursor = [], None
    while True:
        body = {"text": "red", "limit": 1, "cursor": cursor}
        page = filled.post("/search/image", json=body).json()
        seen += ids(page)
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == ids(whole)


def test_cursor_of_another_query_is_refused(filled: TestClient) -> None:
    cursor = filled.post("/search/image", json={"text": "red", "limit": 1}).json()["cursor"]
    answer = filled.post("/search/image", json={"text": "blue", "limit": 1, "cursor": cursor})
    assert answer.status_code == 422
    assert "another query" in answer.json()["detail"]


def test_empty_default_collection_has_no_hits(client: TestClient) -> None:
    assert client.post("/search/image", json={"text": "red"}).json()["hits"] == []


def test_collections_do_not_mix(filled: TestClient, png: Png) -> None:
    form = {"collection": "other one/ü"}
    filled.put("/items/only", files={"image": png("red")}, data=form)
    answer = filled.post("/search/image", json={"text": "red", **form}).json()
    assert ids(answer) == ["only"]
    assert filled.get(answer["hits"][0]["image"]).status_code == 200
    assert len(filled.post("/search/image", json={"text": "red"}).json()["hits"]) == 3
    named = {c["name"]: c["items"] for c in filled.get("/collections").json()["collections"]}
    assert named == {"default": 3, "other one/ü": 1}


def test_answers_say_how_they_were_found(filled: TestClient) -> None:
    asked = {"text": "red", "limit": 2}
    usual = filled.post("/search/image", json=asked).json()
    exact = filled.post("/search/image", json=asked | {"exact": True}).json()
    whole = {"complete": True, "coverage": 1.0}
    assert usual["searched"] == {
        "exact": True,
        "rows": 3,
        "candidates": 3,
        "behind": 0,
        **whole,
        "damaged": [],
    }
    assert ids(usual) == ids(exact)


def test_index_tells_how_a_collection_is_searched(filled: TestClient) -> None:
    told = filled.get("/index").json()
    assert told["images"] == {"rows": 3, "in_memory": 3, "found_by": {"scan": 3}}
    assert told["sentences"]["rows"] == 3
    assert (told["behind"], told["revision"]) == (0, 3)
    assert filled.get("/index?collection=none").status_code == 404


@pytest.mark.parametrize("side", ["images", "sentences"])
def test_audit_repeats_queries_exactly(filled: TestClient, side: str) -> None:
    asked = {"queries": ["red", "a blue thing"], "side": side}
    told = filled.post("/index/audit", json=asked).json()
    assert (told["queries"], told["recall"], told["worst"]) == (2, 1.0, 1.0)
    assert told["note"] is None
    assert filled.post("/index/audit", json={"queries": []}).status_code == 422


@pytest.mark.parametrize(
    ("queries", "why"),
    [(None, "no search so far left rows out"), (["xyzzy"], "no query has a word that the model")],
)
def test_audit_without_queries_has_no_recall(
    filled: TestClient, queries: list[str] | None, why: str
) -> None:
    told = filled.post("/index/audit", json={"queries": queries}).json()
    assert (told["queries"], told["recall"], told["worst"]) == (0, None, None)
    assert told["note"].startswith(why)


@pytest.mark.parametrize("side", ["image", "text"])
def test_hits_carry_the_fields_that_are_chosen(client: TestClient, png: Png, side: str) -> None:
    about = {"title": "Wall", "price": 3, "brand": "Acme"}
    data = {"metadata": json.dumps(about), "sentences": "a red wall"}
    client.put("/items/wall", files={"image": png("red")}, data=data)

    def found(**asked: object) -> tuple[dict, list[str]]:
        answer = client.post(f"/search/{side}", json={"text": "red", **asked}).json()
        return answer["hits"][0]["metadata"], answer["query"]["notes"]

    assert found() == (about, [])
    assert found(fields=["price", "title"]) == ({"price": 3, "title": "Wall"}, [])
    assert found(fields=[]) == ({}, [])
    note = "No item has 'titel' in its metadata; the nearest key is 'title'."
    assert found(fields=["titel", "brand"]) == ({"brand": "Acme"}, [note])


def test_weights_of_fields_are_sent_to_product_search(client: TestClient) -> None:
    answer = client.post("/search/image", json={"text": "red", "fields": {"title": 2}})
    assert answer.status_code == 422
    assert "belong to /search/products" in answer.json()["detail"]
