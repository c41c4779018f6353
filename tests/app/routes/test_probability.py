"""A calibrated matcher's hits, phrases and captions have probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from app.settings import Settings
from models.scores.calibration import Calibration

Png = Callable[..., bytes]


@pytest.fixture
def client(engine: Engine, settings: Settings, calibration: Calibration) -> Iterator[TestClient]:
    """The small matcher, calibrated."""
    checkpoints = engine.models.checkpoints
    calibrated = {"matcher": replace(checkpoints["matcher"], calibration=calibration)}
    answering = Engine(Models(**checkpoints | calibrated), engine.catalog, settings.data)
    with TestClient(create_app(settings, answering), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def filled(client: TestClient, png: Png) -> TestClient:
    for name, colours in {"r": ["red"], "g": ["lime"], "rb": ["red", "blue"]}.items():
        fields = {"sentences": f"{colours[-1]}"}
        client.put(f"/items/{name}", files={"image": png(*colours)}, data=fields)
    return client


def test_every_hit_says_how_probable_it_is(filled: TestClient) -> None:
    answer = filled.post("/search/image", json={"text": "red"}).json()
    assert answer["weak_below"] == 0.25
    found = {hit["id"]: hit["probability"] for hit in answer["hits"]}
    assert found["r"] == pytest.approx(0.9526, abs=0.01)  # σ(3 · 3 − 6)
    assert found["g"] < 0.01


@pytest.mark.parametrize("way", ["text", "image"])
@pytest.mark.parametrize("path", ["/search/image", "/search/text"])
def test_every_kind_of_search_has_probabilities(
    filled: TestClient, png: Png, path: str, way: str
) -> None:
    sent = {"json": {"text": "red"}} if way == "text" else {"files": {"image": png("red")}}
    hits = filled.post(path, **sent).json()["hits"]
    probable = [hit["probability"] for hit in hits]
    assert len(probable) == 3
    assert all(0 <= probability <= 1 for probability in probable)
    assert max(probable) > 0.9


def test_hits_below_the_least_probability_are_left_out(filled: TestClient) -> None:
    asked = {"text": "red", "min_probability": 0.5}
    answer = filled.post("/search/image", json=asked).json()
    assert {hit["id"] for hit in answer["hits"]} == {"r", "rb"}
    assert answer["cursor"] is None
    nothing = filled.post("/search/image", json={"text": "black", "min_probability": 0.5}).json()
    assert nothing["hits"] == []
    refused = filled.post("/search/image", json=asked | {"min_probability": 1.5})
    assert refused.status_code == 422


def test_pages_go_on_with_what_is_probable(filled: TestClient, png: Png) -> None:
    for number in range(9):
        colour = "red" if number % 2 else "lime"
        filled.put(f"/items/{number}", files={"image": png(colour)})
    asked = {"text": "red", "min_probability": 0.5, "limit": 2}
    found, cursor = list[str](), None
    while True:
        page = filled.post("/search/image", json=asked | {"cursor": cursor}).json()
        found += [hit["id"] for hit in page["hits"]]
        cursor = page["cursor"]
        if cursor is None:
            break
        assert len(page["hits"]) == 2
    assert sorted(found) == ["1", "3", "5", "7", "r", "rb"]
    other = asked | {"min_probability": 0.4}
    first = filled.post("/search/image", json=asked).json()["cursor"]
    refused = filled.post("/search/image", json=other | {"cursor": first})
    assert "another query" in refused.json()["detail"]


def test_a_photos_sentences_are_cut_by_their_own_probability(filled: TestClient, png: Png) -> None:
    sent = {"files": {"image": png("red")}, "data": {"min_probability": "0.5"}}
    hits = filled.post("/search/text", **sent).json()["hits"]
    assert [hit["sentence"] for hit in hits] == ["red"]


def test_what_is_negated_makes_a_hit_improbable(filled: TestClient) -> None:
    hits = filled.post("/search/image", json={"text": "red without blue"}).json()["hits"]
    found = {hit["id"]: hit["probability"] for hit in hits}
    assert found["r"] > 0.9
    assert found["rb"] < 0.1


def test_words_of_the_training_are_known(filled: TestClient) -> None:
    assert filled.post("/search/image", json={"text": "rosso"}).json()["query"]["notes"] == []


def test_without_a_presence_it_is_not_known_what_is_there(client: TestClient, png: Png) -> None:
    """A hit's probability is no answer: every photo may have people."""
    photo = {"image": png("red")}
    form = {"text": "red or lime or asdfgh", "phrases": '["red", "lime", "asdfgh"]'}
    red, lime, noise = client.post("/ground", files=photo, data=form).json()["phrases"]
    assert (red["present"], lime["present"], noise["present"]) == (True, True, False)
    assert {red["probability"], lime["probability"], noise["probability"]} == {None}
    assert (len(red["boxes"]), len(lime["boxes"]), noise["boxes"]) == (1, 1, [])
    picture = {"accept": "image/svg+xml"}
    drawn = client.post("/ground", files=photo, data={"text": "lime"}, headers=picture)
    assert drawn.status_code == 200
    assert drawn.text.startswith("<svg")


def test_captions_say_how_probable_they_are(client: TestClient, png: Png) -> None:
    answer = client.post("/caption", files={"image": png("red")}).json()
    assert answer["unsure_below"] == 0.25
    assert 0 <= answer["captions"][0]["probability"] < 0.25
