"""A service on an adopted retriever: from the command to hits with boxes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from index.catalog.catalog import Catalog
from models import checkpoint
from models.scores.scoring import SCORES
from models.types import PaddedBags
from models.vision.photo_decoding import decode
from tests import encoders
from training.cli import app

PHOTOS = {"one": ("red", "blue"), "two": ("green", "white"), "three": ("black", "yellow")}


def read(file: bytes) -> torch.Tensor:
    return torch.from_numpy(decode(file).pixels.copy()).permute(2, 0, 1)


@pytest.fixture(scope="module", params=["colpali", "colqwen2", "colmodernvbert"])
def adopted(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("adopted") / "late.safetensors"
    folder = encoders.retriever(request.param)
    result = CliRunner().invoke(app, ["adopt", str(folder), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "the retriever's own MaxSim" in " ".join(result.output.split())
    assert "probabilities are estimated from" in " ".join(result.output.split())
    return out


@pytest.fixture
def client(adopted: Path, settings, tmp_path, png):
    engine = Engine(Models.load(adopted, None, None), Catalog.in_folder(tmp_path), tmp_path)
    with TestClient(create_app(settings, engine)) as client:
        for name, colours in PHOTOS.items():
            photo = {"image": png(*colours)}
            assert client.put(f"/items/{name}", files=photo).status_code == 201
        yield client


def test_hits_have_the_retrievers_score_and_links_with_boxes(client, adopted, png):
    answer = client.post("/search/image", json={"text": "a red dog"}).json()
    assert {hit["id"] for hit in answer["hits"]} == set(PHOTOS)
    model = checkpoint.load(adopted).model
    photos = {name: read(client.get(f"/items/{name}/image").content) for name in PHOTOS}
    texts = PaddedBags.of([bag.vectors for bag in model.embed_sentences(["a red dog"])])
    for hit in answer["hits"]:
        (bag,) = model.embed_images([photos[hit["id"]]])
        score = SCORES["max_sim"](PaddedBags.of([bag.vectors]), texts)
        added = sum(link["similarity"] for link in hit["links"])
        assert added == pytest.approx(hit["score"], abs=1e-3)
        assert hit["score"] == pytest.approx(float(score), abs=2e-3)  # the index has half precision
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_every_kind_of_search_answers(client, png):
    for sent in (
        {"text": "a dog, no cat"},
        {"id": "one"},
        {"text": "red", "id": "two", "photo_weight": 0.5},
    ):
        answer = client.post("/search/image", json=sent)
        assert answer.status_code == 200, answer.text
        hits = answer.json()["hits"]
        assert hits
        for hit in hits:
            added = sum(link["similarity"] for link in hit["links"])
            assert added == pytest.approx(hit["score"], abs=1e-2)
    answer = client.post("/search/regions", json={"text": "a red dog"})
    assert answer.status_code == 200
    assert answer.json()["hits"]
    explained = client.post("/align", files={"image": png("red")}, data={"text": "a dog"}).json()
    added = sum(link["similarity"] for link in explained["links"])
    assert added == pytest.approx(explained["score"], abs=1e-3)
