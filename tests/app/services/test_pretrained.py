"""A service on an adopted encoder: hits, sums, and migration."""

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from index.catalog.catalog import Catalog
from tests import encoders
from training.encoders import adopt as adopting


@pytest.fixture(scope="module")
def adopted(tmp_path_factory):
    out = tmp_path_factory.mktemp("adopted") / "clip.safetensors"
    adopting.adopt(encoders.folder("clip"), out, adopting.Choice(), "mit", "clip")
    return out


def engine_of(matcher, folder):
    catalog = Catalog.in_folder(folder)
    return Engine(Models.load(matcher, None, None), catalog, folder)


def test_a_collection_moves_to_an_adopted_encoder_and_explains_its_hits(
    adopted, small_matcher, settings, tmp_path, png
):
    with TestClient(create_app(settings, engine_of(small_matcher, tmp_path))) as client:
        for name, colours in (("one", ("red", "blue")), ("two", ("green", "white"))):
            photo = {"image": png(*colours)}
            assert client.put(f"/items/{name}", files=photo).status_code == 201
    engine = engine_of(adopted, tmp_path)
    engine.reembed("default", lambda done, total: None)
    with TestClient(create_app(settings, engine)) as client:
        answer = client.post("/search/image", json={"text": "asdf 狗 beach"}).json()
        assert answer["query"]["notes"] == []  # every word is known
        hits = answer["hits"]
        assert {hit["id"] for hit in hits} == {"one", "two"}
        for hit in hits:
            added = sum(link["similarity"] for link in hit["links"])
            assert added == pytest.approx(hit["score"], abs=1e-3)
        photo = {"image": png("red")}
        explained = client.post("/align", files=photo, data={"text": "a red dog"}).json()
        assert sum(link["similarity"] for link in explained["links"]) == pytest.approx(
            explained["score"], abs=1e-3
        )
