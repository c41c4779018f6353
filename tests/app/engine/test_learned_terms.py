"""A service with a catalogue's terms, next to the general one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from models import checkpoint
from models.checkpoint import Checkpoint
from models.matcher import Config, TwoTowerMatcher
from models.scores.calibration import Calibration
from models.vision.images import decode
from tests.stored_items import put
from training.data.corpus import Example
from training.matchers import terms

COLOURS = {"plum": (200, 30, 30), "lime": (30, 200, 30), "teal": (30, 30, 200)}
SHADES = 8
Hits = list[dict[str, Any]]


def photo(colour: str, shade: int) -> bytes:
    """A photo with a lighter right half, for unlike regions."""
    image = Image.new("RGB", (96, 96), tuple(value + 2 * shade for value in COLOURS[colour]))
    image.paste(tuple(value + 20 + 2 * shade for value in COLOURS[colour]), (48, 0, 96, 96))
    image.save(file := BytesIO(), "PNG")
    return file.getvalue()


PHOTOS = {f"{colour} {n}": photo(colour, n) for colour in COLOURS for n in range(SHADES)}


def general() -> Checkpoint:
    """An untrained matcher of regions and words, calibrated with photos of noise."""
    torch.manual_seed(0)
    image = {"views": ("lite0@96",), "embedding": 8, "region_scale": 1.0}
    text = {"embedding": 8, "hidden": 8}
    matcher = TwoTowerMatcher(
        Config({"name": "regions_in_context", "options": image}, {"name": "brnn", "options": text})
    ).eval()
    torch.nn.init.normal_(matcher.image.regions.project.weight, std=0.5)
    noise = matcher.embed_images([torch.randint(0, 255, (3, 96, 96)).byte() for _ in range(20)])
    wholes = torch.stack([bag.vectors[0] for bag in noise])
    coefficients = torch.tensor([[0.3, 0.0, 0.0, -2.0]] * 3)
    known = Calibration(wholes, wholes, coefficients, 0.2)
    return Checkpoint("matchers", "small", matcher, "", {}, known)


@dataclass(frozen=True)
class Service:
    client: TestClient
    data: Path

    def hits(self, path: str, **sent: Any) -> Hits:
        answer = self.client.post(path, **sent)
        assert answer.status_code == 200, answer.text
        found: Hits = answer.json()["hits"]
        return found


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Service]]:
    """Two services of the same photos: general, and with terms."""
    start = general()
    inputs = start.model.image_inputs([decode(photo).pixels for photo in PHOTOS.values()])
    examples = [
        Example(name, Path(name), (name.split()[0],), terms=(name.split()[0],), group=name)
        for name in PHOTOS
    ]
    chosen = terms.choose_terms(examples, terms.TermOptions())
    learned = terms.learn_terms(start, inputs, examples, chosen)
    made = {"start": (start.model, start.calibration), "terms": learned}
    running = {}
    for which, (model, calibration) in made.items():
        folder = tmp_path_factory.mktemp(which)
        file = folder / "matcher.safetensors"
        checkpoint.save(file, "matchers", which, model, {})
        checkpoint.calibrate(file, file, calibration)
        settings = Settings(data=folder, matcher=file, captioner=None, grounder=None,
                            region_captioner=None, allowed_hosts=("testserver",))  # fmt: skip
        engine = Engine.load(settings)
        put(engine, "default", [
            Draft(name, {"title": f"thing {name[-1]}"}, sentences=(f"a {name.split()[0]} thing",))
            .with_photo(content)
            for name, content in PHOTOS.items()
        ])  # fmt: skip
        client = TestClient(create_app(settings, engine), raise_server_exceptions=False)
        running[which] = Service(client.__enter__(), folder)
    yield running
    for service in running.values():
        service.client.__exit__(None, None, None)


@pytest.fixture
def learned(services: dict[str, Service]) -> Service:
    return services["terms"]


def colours(hits: Hits, count: int = SHADES) -> set[str]:
    return {hit["id"].split()[0] for hit in hits[:count]}


def add_up(hits: Hits) -> None:
    for hit in hits:
        for given in (hit["links"], hit["phrases"]) if hit["phrases"] else (hit["links"],):
            total = sum(one["similarity"] for one in given)
            assert total == pytest.approx(hit["score"], abs=1e-2)


@pytest.mark.parametrize("colour", COLOURS)
def test_a_term_finds_the_photos_that_show_it(learned: Service, colour: str) -> None:
    hits = learned.hits("/search/image", json={"text": colour, "limit": 24})
    assert colours(hits) == {colour}
    shown, others = hits[:SHADES], hits[SHADES:]
    least = min(hit["probability"] for hit in shown)
    assert least > 0.5 > max(hit["probability"] for hit in others)
    add_up(hits)


def test_a_photo_finds_the_sentences_that_name_its_terms(learned: Service) -> None:
    hits = learned.hits("/search/text", files={"image": photo("teal", 3)}, data={"limit": "24"})
    assert colours(hits) == {"teal"}
    assert 0 <= hits[-1]["probability"] < hits[0]["probability"] <= 1
    add_up(hits)


def test_products_are_found_by_terms_of_their_photos(learned: Service) -> None:
    hits = learned.hits("/search/products", json={"text": "lime", "weights": {"looks": 1.0}})
    assert colours(hits, 5) == {"lime"}
    for hit in hits:
        assert sum(part["gave"] for part in hit["parts"]) == pytest.approx(hit["score"])


def test_a_pair_is_explained_as_it_was_found(learned: Service) -> None:
    asked = {"text": "a plum thing but no lime", "id": "plum 2"}
    told = learned.client.post("/align", json=asked).json()
    hits = learned.hits("/search/image", json={"text": asked["text"], "words": False, "limit": 24})
    found = next(hit for hit in hits if hit["id"] == asked["id"])
    seen = sum(link["similarity"] for link in told["links"])
    assert seen == pytest.approx(found["score"], abs=1e-2)
    assert seen + sum(word["gave"] for word in told["words"]) == pytest.approx(told["score"])
    uploaded = learned.client.post(
        "/align", files={"image": PHOTOS[asked["id"]]}, data={"text": asked["text"]}
    ).json()
    assert uploaded["score"] == pytest.approx(seen, abs=1e-3)


GENERAL: dict[str, Callable[[Service], Hits]] = {
    "a text without terms": lambda one: one.hits("/search/image", json={"text": "a quiet dog"}),
    "photos for a photo": lambda one: one.hits("/search/image", files={"image": photo("lime", 1)}),
    "texts for a text": lambda one: one.hits("/search/text", json={"text": "a lime thing"}),
}


@pytest.mark.parametrize("search", GENERAL.values(), ids=GENERAL.keys())
def test_what_asks_for_no_terms_is_answered_as_before(
    services: dict[str, Service], search: Callable[[Service], Hits]
) -> None:
    before, after = (search(services[name]) for name in ("start", "terms"))
    for one, other in zip(before, after, strict=True):
        assert other["score"] == pytest.approx(one["score"], abs=2e-2)
        assert other["probability"] == pytest.approx(one["probability"], abs=5e-3)
