"""Captions with boxes of words, doubts, regions, sampling and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from app.settings import Settings
from models.captions.calibration import CaptionCalibration

Png = Callable[..., bytes]


@pytest.fixture
def client(describing: Engine, settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings, describing), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def photo(png: Png) -> dict[str, bytes]:
    return {"image": png("red", "blue")}


def test_words_have_boxes_contributions_and_attention(client: TestClient, photo) -> None:
    answer = client.post("/caption", files=photo).json()
    (caption,) = answer["captions"]
    assert caption["text"] == "With red by blue and lime"
    words = {word["text"]: word for word in caption["words"]}
    assert list(words) == ["With", "red", "by", "blue", "and", "lime"]
    red, blue, lime, and_ = words["red"], words["blue"], words["lime"], words["and"]
    assert (red["box"], red["supported"]) == ([0, 0, 0.5, 0.5], True)
    assert (blue["box"], blue["span"]) == ([0.5, 0, 1, 0.5], [12, 16])
    assert (lime["box"], lime["supported"]) == (None, False)
    assert red["confidence"] > 0.9 > 0.1 > lime["confidence"]
    assert red["attention"] == {"box": [0, 0, 0.5, 0.5], "share": 1}
    assert {and_[name] for name in ("contribution", "box", "confidence", "supported")} == {None}
    gave = sum(word["contribution"] or 0 for word in caption["words"])
    assert gave == pytest.approx(caption["score"])
    assert caption["log_probability"] == sum(word["log_probability"] for word in caption["words"])


def test_a_caption_is_scored_as_a_query(client: TestClient, photo) -> None:
    client.put("/items/x", files=photo)
    (caption,) = client.post("/caption", json={"id": "x"}).json()["captions"]
    (hit,) = client.post("/search/image", json={"text": caption["text"]}).json()["hits"]
    assert caption["score"] == pytest.approx(hit["score"], abs=1e-4)
    assert caption["probability"] == pytest.approx(hit["probability"], abs=1e-4)


def test_an_improbable_caption_is_unsure(client: TestClient, photo, png: Png) -> None:
    answer = client.post("/caption", files={"image": png("gray", "slategray")}).json()
    assert answer["unsure_below"] == 0.25
    assert [one["unsure"] for one in answer["captions"]] == [True]
    (sure,) = client.post("/caption", files=photo).json()["captions"]
    assert sure["unsure"] == (sure["probability"] < 0.25)


def test_regions_are_described_the_best_first(client: TestClient, photo) -> None:
    assert client.post("/caption", files=photo).json()["regions"] == []
    form = {"regions": "3"}
    regions = client.post("/caption", files=photo, data=form).json()["regions"]
    assert len(regions) == 3
    assert regions[0] == {
        "box": regions[0]["box"],
        "caption": "Red thing",
        "log_probability": -1.0,
        "probability": pytest.approx(0.95, abs=0.01),
        "score": pytest.approx(3, abs=0.1),
    }
    probable = [region["probability"] for region in regions]
    assert probable == sorted(probable, reverse=True)


def test_regions_of_a_stored_photo_are_those_of_the_upload(client: TestClient, photo) -> None:
    client.put("/items/x", files=photo)
    stored = client.post("/caption", json={"id": "x", "regions": 9}).json()
    uploaded = client.post("/caption", files=photo, data={"regions": "9"}).json()
    for one, other in zip(stored["regions"], uploaded["regions"], strict=True):
        assert one["caption"] == other["caption"]
        assert one["score"] == pytest.approx(other["score"], abs=0.1)  # the stored one is a JPEG


@pytest.mark.parametrize(
    ("ruled_out", "named"), [((), {"Red thing", "Blue thing"}), (("blue",), {"Red thing"})]
)
def test_regions_name_nothing_that_the_photo_is_known_not_to_show(
    client: TestClient, describing: Engine, photo, ruled_out: tuple[str, ...], named: set[str]
) -> None:
    describing.models.captioner.ruled_out = frozenset(ruled_out)
    regions = client.post("/caption", files=photo, data={"regions": "4"}).json()["regions"]
    assert {region["caption"] for region in regions} == named


def test_a_caption_is_as_probable_as_its_calibration_says(
    describing: Engine, settings: Settings, photo
) -> None:
    models = describing.models
    with TestClient(create_app(settings, describing)) as client:
        plain = client.post("/caption", files=photo).json()
        models.captioner.familiarity = 0.5
        for least, unsure in ((0.0, False), (1.0, True)):
            models.calibrated = CaptionCalibration(
                (0.0, 0.0, 2.0, 0.0, 0.0), least, models.fingerprint, frozenset()
            )
            answer = client.post("/caption", files=photo).json()
            (caption,) = answer["captions"]
            assert answer["unsure_below"] == least
            assert caption["unsure"] is unsure
            assert caption["probability"] == pytest.approx(0.731, abs=1e-3)  # σ(2 · 0.5)
            assert caption["text"] == plain["captions"][0]["text"]


@pytest.mark.parametrize("fits", [True, False])
def test_a_calibration_counts_for_the_matcher_that_it_was_measured_with(
    describing: Engine, fits: bool
) -> None:
    loaded = describing.models.checkpoints
    matcher = loaded["matcher"].fingerprint if fits else "51de500000000000"
    known = CaptionCalibration((0.0,) * 5, 0.6, matcher, frozenset())
    models = Models(**loaded | {"captioner": replace(loaded["captioner"], captions=known)})
    assert models.unsure_below == (0.6 if fits else 0.25)


def test_without_a_captioner_of_regions_they_are_refused(
    client: TestClient, describing: Engine, photo
) -> None:
    describing.models.region_captioner = None
    refused = client.post("/caption", files=photo, data={"regions": "1"})
    assert refused.status_code == 503
    assert refused.json()["type"] == "urn:tessera:problem:no-region-captioner"
    assert "TESSERA_REGION_CAPTIONER" in refused.json()["detail"]
    assert client.post("/caption", files=photo).status_code == 200


def test_a_captioner_of_whole_photos_is_refused_as_one_of_regions(engine: Engine) -> None:
    loaded = engine.models.checkpoints
    with pytest.raises(ValueError, match="sizes describes whole photos alone: set TESSERA_REGION"):
        Models(**loaded | {"region_captioner": loaded["captioner"]})


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"beam": 0}, "beam"),
        ({"beam": 21}, "beam"),
        ({"beam": 2, "count": 3}, "count: a beam of 2 gives at most as many captions; set a beam "),
        ({"count": 9}, "a beam of 7 gives at most as many captions; set a beam of at least 9"),
        ({"temperature": 0}, "temperature"),
        ({"temperature": 1e-39, "seed": 1}, "temperature"),  # of which no chances are left
        ({"temperature": 11}, "temperature"),
        ({"temperature": "warm"}, "temperature"),
        ({"seed": 1}, "seed: only sampling needs one; send a temperature as well"),
        ({"temperature": 1, "seed": -1}, "seed"),
        ({"max_words": 0}, "max_words"),
        ({"max_words": 51}, "max_words"),
        ({"regions": -1}, "regions"),
        ({"regions": 51}, "regions"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(
    client: TestClient, photo, fields: dict[str, object], detail: str
) -> None:
    client.put("/items/x", files=photo)
    form = {name: str(value) for name, value in fields.items()}
    for answer in (
        client.post("/caption", json={"id": "x"} | fields),
        client.post("/caption", files=photo, data=form),
    ):
        assert answer.status_code == 422
        assert detail in answer.json()["detail"]


def test_sampling_may_give_more_than_a_beam(client: TestClient, photo) -> None:
    form = {"temperature": "1.5", "seed": "3", "beam": "1", "count": "4", "max_words": "7"}
    assert len(client.post("/caption", files=photo, data=form).json()["captions"]) == 4


@pytest.mark.parametrize(("kind", "start"), [("image/png", b"\x89PNG"), ("image/svg+xml", b"<svg")])
def test_a_caption_can_be_had_as_a_picture(
    client: TestClient, photo, kind: str, start: bytes
) -> None:
    answer = client.post("/caption", files=photo, headers={"accept": kind})
    assert answer.headers["content-type"] == kind
    assert answer.content.startswith(start)
    if kind == "image/svg+xml":
        assert ">lime ?</text>" in answer.text
        assert ">red</text>" in answer.text
        assert "not supported" in answer.text
    refused = client.post("/caption", files=photo, headers={"accept": "text/html"})
    assert refused.status_code == 406


def test_the_service_says_which_captioners_it_has(client: TestClient) -> None:
    assert client.get("/model").json()["region_captioner"] == {
        "name": "names",
        "fingerprint": "2a3e500000000000",
    }
