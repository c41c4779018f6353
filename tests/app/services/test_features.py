"""The features of each kind of matcher, tried and documented."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from app.settings import Settings
from index.catalog.catalog import Catalog
from models import checkpoint, shipped
from models.captions.support import support
from models.registry import Caption, CaptionWord
from models.vision.images import decode
from tests import encoders
from training.encoders import adopt as adopting
from training.encoders import reference
from training.runs.progress import silent

PAGE = Path(__file__).parents[3] / "docs/use/models.md"
KINDS = ("the matcher that ships", "an adopted encoder", "a matcher without calibration")
WORKS = "works"
NO_PROBABILITIES = "no: `tessera calibrate` gives it probabilities"
ALL_WORDS = "no: its tokenizer reads every word, so none counts as a mistake"
ADD_PRESENCE = "no: `tessera add-presence` fits it on photos with labels"
WITHOUT_PRESENCE = "no: presence needs probabilities first"
COLOURS = {"red": "A red shirt", "blue": "A blue shirt", "lime": "A green sofa"}


class Service:
    """A service of one kind of matcher, with three items."""

    def __init__(self, engine: Engine, client: TestClient, photo: bytes) -> None:
        self.engine, self.client, self.photo = engine, client, photo

    def ask(self, path: str, **asked: Any) -> dict[str, Any]:
        """An answer; one without hits if the question is refused."""
        answer = self.client.post(path, json=asked)
        return answer.json() if answer.status_code == 200 else {"hits": []}

    def show(self, path: str, **asked: str) -> dict[str, Any]:
        """The answer to a photo, and fields of a form."""
        answer = self.client.post(path, files={"image": self.photo}, data=asked)
        return answer.json() if answer.status_code == 200 else {"hits": []}


def explains(service: Service) -> bool:
    hits = service.ask("/search/image", text="a red dog")["hits"]
    sums = [
        sum(link["similarity"] for link in hit["links"])
        + sum(word["gave"] for word in hit["words"])
        for hit in hits
    ]
    return sums == pytest.approx([hit["score"] for hit in hits], rel=1e-3, abs=1e-3)


def marks_weak_hits(service: Service) -> bool:
    answer = service.ask("/search/image", text="a red dog")
    return answer["weak_below"] is not None and answer["hits"][0]["probability"] is not None


def cuts(service: Service) -> bool:
    return bool(service.ask("/search/image", text="a red dog", min_probability=0.0)["hits"])


def compares_photos(service: Service) -> bool:
    return bool(service.show("/search/image")["hits"])


def compares_texts(service: Service) -> bool:
    hits = service.ask("/search/text", text="a shirt")["hits"]
    return bool(hits) and hits[0]["probability"] is not None


def refuses(service: Service) -> bool:
    hits = service.ask("/search/image", text="a dog, no person")["hits"]
    return any(phrase["negated"] for phrase in hits[0]["phrases"])


def corrects(service: Service) -> bool:
    return service.ask("/search/image", text="a womann")["query"]["corrected"] is not None


def finds_regions(service: Service) -> bool:
    return bool(service.ask("/search/regions", text="a red dog")["hits"])


def judges_presence(service: Service) -> bool:
    return service.engine.models.presence is not None


def ranks_products_by_looks(service: Service) -> bool:
    asked = {"min_probability": 0.0, "weights": {"looks": 1.0}}
    return has_part("looks", service.ask("/search/products", text="a red shirt", **asked))


def finds_words_that_no_title_has(service: Service) -> bool:
    asked = {"min_probability": 0.0, "weights": {"meaning": 1.0}}
    return has_part("meaning", service.ask("/search/products", text="couch", **asked))


def likes_this_but(service: Service) -> bool:
    answer = service.show(
        "/search/products", text="but blue", photo_weight="1", min_probability="0"
    )
    return has_part("likeness", answer)


def has_part(kind: str, answer: dict[str, Any]) -> bool:
    return any(part["kind"] == kind for hit in answer["hits"] for part in hit["parts"])


def collapses(service: Service) -> bool:
    asked = {"text": "shirt", "collapse": "kind"}
    return [hit["variants"] for hit in service.ask("/search/products", **asked)["hits"]] == [2]


def supports_captions(service: Service) -> bool:
    models = service.engine.models
    bag = models.photo(decode(service.photo))
    words = tuple(CaptionWord(word, -1.0) for word in ("a", "red", "shirt"))
    captions = [Caption(words, -3.0)]
    supported = support(models.matcher, models.calibration, bag, captions, (), None)
    return supported[0].probability is not None


FEATURES: dict[str, tuple[Callable[[Service], bool], str, str]] = {
    # a feature, how it is tried, and why an adopted encoder and an uncalibrated matcher lack it
    "links that add up to the score, boxes, regions": (explains, "", ""),
    "`/search/regions`": (finds_regions, "", ""),
    "photos like a photo": (compares_photos, "", ""),
    "refused things: \"a dog, no person\"": (refuses, "", ""),
    "probabilities, weak hits marked, \"nothing looks like that\"": (
        marks_weak_hits, "", NO_PROBABILITIES,
    ),
    "`min_probability`": (cuts, "", NO_PROBABILITIES),
    "sentences that say the same, with probabilities": (compares_texts, "", NO_PROBABILITIES),
    "products by words, facets, groups": (collapses, "", ""),
    "products by how their photos look": (ranks_products_by_looks, "", NO_PROBABILITIES),
    "products by words that no title has": (
        finds_words_that_no_title_has, "", NO_PROBABILITIES,
    ),
    "\"like this, but blue\"": (likes_this_but, "", NO_PROBABILITIES),
    "support of captions by the photo": (supports_captions, "", NO_PROBABILITIES),
    "corrected typing errors": (corrects, ALL_WORDS, ""),
    "whether a thing is there (`/ground`, rank by things)": (
        judges_presence, ADD_PRESENCE, WITHOUT_PRESENCE,
    ),
}  # fmt: skip


def load(kind: str, folder: Path, small_matcher: Path) -> Models:
    if kind == KINDS[0]:
        return Models.load(shipped.MATCHER)
    if kind == KINDS[2]:
        return Models.load(small_matcher)
    out = folder / "clip.safetensors"
    adopting.adopt(encoders.folder("clip"), out, adopting.Choice(), "mit", "clip")
    reference.calibrate_once(out, None, silent)
    return Models(checkpoint.load(out))


@pytest.fixture(params=KINDS)
def service(
    request: pytest.FixtureRequest,
    small_matcher: Path,
    settings: Settings,
    tmp_path: Path,
    png: Callable[..., bytes],
) -> Iterator[Service]:
    catalog = Catalog.in_folder(tmp_path / "data")
    engine = Engine(load(request.param, tmp_path, small_matcher), catalog, tmp_path / "data")
    drafts = [
        Draft(colour, {"title": title, "kind": title.split()[-1]}, sentences=(title,)).with_photo(
            png(colour)
        )
        for colour, title in COLOURS.items()
    ]
    assert engine.put_each("default", engine.open("default"), drafts) == [None] * 3
    own = settings.model_copy(update={"data": tmp_path / "data"})
    with TestClient(create_app(own, engine)) as client:
        yield Service(engine, client, png("red"))
    engine.close()


@pytest.mark.timeout(600)
def test_each_kind_of_matcher_does_what_the_page_says(
    service: Service, request: pytest.FixtureRequest
) -> None:
    number = KINDS.index(request.node.callspec.params["service"])
    reasons = {name: ("", adopted, bare)[number] for name, (_, adopted, bare) in FEATURES.items()}
    works = {name: trial(service) for name, (trial, _, _) in FEATURES.items()}
    assert works == {name: not reason for name, reason in reasons.items()}


def test_the_page_has_the_table_of_features() -> None:
    header = ("", *KINDS)
    rows = [
        (name, WORKS, adopted or WORKS, bare or WORKS)
        for name, (_, adopted, bare) in FEATURES.items()
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ("---",) * 4, *rows)]
    table = "\n".join(lines).replace("|  |", "| |")
    assert table in PAGE.read_text("utf-8"), f"docs/use/models.md needs this table:\n{table}"
