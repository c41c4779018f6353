"""Photos are asked for things with a fitted presence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from app.settings import Settings
from index.search.requests import Request
from index.search.scan import LIKELIEST
from index.search.scanner import count_best
from models.scores.calibration import Calibration
from models.scores.presence import Presence
from models.text.query_drafts import of_several

Png = Callable[..., bytes]
# A colour is said to be there from v · u = 2 on, where its log odds are 0.
PRESENCE = Presence(
    torch.zeros(3, 3), torch.zeros(3), torch.zeros(3), 1.0, -2.0, 0.0, 1.0,
    frozenset({"red", "lime", "blue"}),
)  # fmt: skip


@pytest.fixture
def models(describing: Engine, calibration: Calibration) -> Models:
    """The models of colours, with a presence."""
    loaded = describing.models.checkpoints
    matcher = replace(loaded["matcher"], calibration=replace(calibration, presence=PRESENCE))
    return Models(**loaded | {"matcher": matcher})


@pytest.fixture
def client(
    models: Models, describing: Engine, settings: Settings, png: Png
) -> Iterator[TestClient]:
    answering = Engine(models, describing.catalog, settings.data)
    with TestClient(create_app(settings, answering), raise_server_exceptions=False) as client:
        photos = {"r": ["red"], "l": ["lime"], "rb": ["red", "blue"], "rl": ["red", "lime"]}
        for name, colours in photos.items():
            client.put(f"/items/{name}", files={"image": png(*colours)})
        yield client


def search(client: TestClient, text: str, **fields: object) -> dict:
    return client.post("/search/image", json={"text": text} | fields).json()


def test_photos_that_show_what_is_denied_come_behind_all_others(client: TestClient) -> None:
    hits = search(client, "red without lime")["hits"]
    assert {hit["id"] for hit in hits[:2]} == {"r", "rb"}
    assert [hit["id"] for hit in hits[2:]] in (["rl", "l"], ["l", "rl"])
    assert hits[1]["score"] > 0 > -90 > hits[2]["score"]
    assert {hit["id"] for hit in search(client, "no lime")["hits"][:2]} == {"r", "rb"}


def test_links_and_phrases_add_up_to_the_score_of_things(client: TestClient) -> None:
    for text in ("red and blue", "red, no lime", "no red or blue", "a red flag without lime"):
        for hit in search(client, text)["hits"]:
            for part in ("links", "phrases"):
                total = sum(one["similarity"] for one in hit[part])
                assert total == pytest.approx(hit["score"], abs=1e-3)


def test_the_photo_that_shows_both_of_two_things_comes_first(client: TestClient) -> None:
    answer = search(client, "a red on a blue")
    assert answer["hits"][0]["id"] == "rb"
    assert [one["label"] for one in answer["query"]["fragments"]] == ["red", "blue"]


def test_the_line_of_weak_hits_is_the_querys_own(client: TestClient) -> None:
    answer = search(client, "red")
    strong = [hit["id"] for hit in answer["hits"] if hit["probability"] >= answer["weak_below"]]
    assert set(strong) == {"r", "rb", "rl"}
    assert search(client, "a red flag")["weak_below"] == 0.25
    one = search(client, "red", limit=1)
    assert one["weak_below"] == answer["weak_below"]  # of all hits, not of a page


def test_many_photos_say_where_weak_hits_begin(models: Models) -> None:
    texts = [[("red", 1.0)], [("a red flag", 1.0)]]
    red, flag = of_several(models.matcher, texts, models.words, models.presence)
    assert count_best(Request("images", red, limit=10)) == LIKELIEST
    assert count_best(Request("images", red, limit=2_000)) > 2_000
    assert count_best(Request("images", flag, limit=10)) < LIKELIEST


def test_ground_says_what_a_photo_does_not_show(client: TestClient) -> None:
    asked = {"id": "rb", "text": "red, lime", "phrases": ["red", "lime"]}
    red, lime = client.post("/ground", json=asked).json()["phrases"]
    assert (red["present"], lime["present"]) == (True, False)
    assert red["probability"] > 0.5 > lime["probability"]
    assert red["boxes"]
    assert not lime["boxes"]


def test_words_of_captions_are_supported_by_presence(client: TestClient) -> None:
    (caption,) = client.post("/caption", json={"id": "rb"}).json()["captions"]
    supported = {word["text"]: word["supported"] for word in caption["words"]}
    assert (supported["red"], supported["blue"], supported["lime"]) == (True, True, False)


def test_a_photo_with_a_text_asks_for_no_things(client: TestClient) -> None:
    fields = {"id": "r", "photo_weight": 0.5}
    together = search(client, "red and blue", **fields)
    assert {link["label"] for link in together["hits"][0]["links"]} >= {"red", "blue", "and"}


def test_misspelt_words_are_corrected_unless_they_are_wanted_as_typed(client: TestClient) -> None:
    query = search(client, "a yelow flga")["query"]
    assert (query["text"], query["corrected"]) == ("a yelow flga", "a yellow flag")
    assert [(one["text"], one["span"], one["spelling"]) for one in query["words"]] == [
        ("yelow", [2, 7], "yellow"),
        ("flga", [8, 12], "flag"),
    ]
    assert query["notes"] == ['"yelow" is taken for "yellow".', '"flga" is taken for "flag".']
    typed = search(client, "flga", spelling=False)["query"]
    assert (typed["corrected"], typed["words"]) == (None, [])
    assert '"flga" is not a word that the model knows' in typed["notes"][0]
    sentences = client.post("/search/text", json={"text": "a flga"}).json()["query"]
    assert sentences["corrected"] == "a flag"


def test_pages_of_things_go_on_where_the_last_one_ended(client: TestClient) -> None:
    whole = [hit["id"] for hit in search(client, "red, no lime")["hits"]]
    first = search(client, "red, no lime", limit=2)
    second = search(client, "red, no lime", limit=2, cursor=first["cursor"])
    assert [hit["id"] for hit in first["hits"] + second["hits"]] == whole
