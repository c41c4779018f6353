"""From files to a hit over HTTP with the word's box."""

from urllib.parse import quote

from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from models.types import Box
from training.data import entities
from training.matchers import train as run
from training.runs.folder import RunPlace


def intersection_over_union(one: Box, other: Box) -> float:
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    shared = max(width, 0) * max(height, 0)
    return shared / (one.area + other.area - shared)


def test_a_trained_matcher_serves_hits_whose_boxes_hold_the_words(preset, corpus, scenes, tmp_path):
    matcher = run.train(preset, corpus, RunPlace(tmp_path / "runs", tmp_path / "features"))
    settings = Settings(
        data=tmp_path / "served", matcher=matcher, captioner=None, region_captioner=None
    )
    truth = entities.read(entities.find(scenes))
    photos = corpus.split("val")[:12]
    found = []
    app = create_app(settings, Engine.load(settings))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for photo in photos:
            address = f"/items/{quote(photo.id, safe='')}"
            stored = client.put(address, files={"image": photo.image.read_bytes()})
            assert stored.status_code == 201
        for photo in photos:
            sentence = truth[photo.image.name][0]
            answer = client.post("/search/image", json={"text": sentence.text, "limit": 12})
            hit = next(hit for hit in answer.json()["hits"] if hit["id"] == photo.id)
            assert abs(sum(link["similarity"] for link in hit["links"]) - hit["score"]) < 1e-4
            for phrase in sentence.phrases:
                links = [
                    link
                    for link in hit["links"]
                    if phrase.span.start <= link["span"][0] and link["span"][1] <= phrase.span.end
                ]
                box = Box(*max(links, key=lambda link: link["similarity"])["box"])
                found.append(any(intersection_over_union(box, b) >= 0.5 for b in phrase.boxes))
    assert sum(found) > 0.75 * len(found)  # chance is 1 in 4
