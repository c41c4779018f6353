"""Truth: the content of a killed service's catalog, read by another process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import httpx2
import numpy as np

from app.defaults import DEFAULT_COLLECTION
from app.engine.inference import Models
from index.backup.checks import everything
from index.catalog.catalog import Catalog
from index.items import Entry
from models.scores.scoring import score_named
from models.types import FragmentBag, PaddedBags
from models.vision import images
from tests.kills.ledger import State
from tests.kills.service import Site

TEXTS = ("a red square", "blue", "the orange square number 7")
LIMIT = 20
PAGE = 200


@contextmanager
def catalog_of(site: Site) -> Iterator[Catalog]:
    """The catalog, opened while other processes may use it."""
    with closing(Catalog(site.settings.storage)) as catalog:
        yield catalog


def entries(catalog: Catalog) -> list[Entry]:
    """All items with their bags and pictures, their checksums verified."""
    home, after, entries = catalog.names.find(DEFAULT_COLLECTION), "", []
    while page := catalog.list_items(home, after=after, limit=PAGE):
        entries += [catalog.entry(home, item.id) for item in page]
        after = page[-1].id
    return entries


def states(stored: Sequence[Entry]) -> dict[str, State]:
    """The states of items by id; AssertionError for one of mixed versions."""
    return {
        entry.id: State.of(
            {
                "metadata": entry.metadata,
                "sentences": list(entry.sentences),
                "image": entry.pictures[0].digest if entry.pictures else None,
            }
        )
        for entry in stored
    }


def list_states(client: httpx2.Client) -> dict[str, State]:
    """The states of items as the service lists them."""
    states: dict[str, State] = {}
    cursor: dict[str, str | int] = {"limit": 100}
    while True:
        page = client.get("/items", params=cursor).raise_for_status().json()
        states |= {item["id"]: State.of(item) for item in page["items"]}
        if page["cursor"] is None:
            return states
        cursor["cursor"] = page["cursor"]


def compare_searches(client: httpx2.Client, models: Models, stored: Sequence[Entry]) -> int:
    """Compare searches with brute force over the stored bags; returns their number."""
    for text in TEXTS:
        query = models.query(text).bag
        truth = {
            entry.id: _score(models, entry.images[0], query) for entry in stored if entry.images
        }
        answer = client.post("/search/image", json={"text": text, "limit": LIMIT})
        _compare(answer.raise_for_status().json()["hits"], truth)
    photo = State(0).photo
    assert photo is not None
    photo_bag = models.photo(images.read(photo))
    truth = {entry.id: _score(models, photo_bag, entry.bags[0]) for entry in stored}
    answer = client.post("/search/text", data={"limit": LIMIT}, files={"image": photo})
    _compare(answer.raise_for_status().json()["hits"], truth)
    return len(TEXTS) + 1


def _score(models: Models, image: FragmentBag, sentence: FragmentBag) -> float:
    score = score_named(models.matcher.score)
    return float(score(PaddedBags.of([image.vectors]), PaddedBags.of([sentence.vectors]))[0, 0])


def _compare(hits: list[dict[str, object]], truth: dict[str, float]) -> None:
    """Assert the best hits with their scores, equal scores in any order."""
    scores = [float(str(hit["score"])) for hit in hits]
    assert len(hits) == min(LIMIT, len(truth)), f"{len(hits)} hits of {len(truth)} items"
    np.testing.assert_allclose(scores, [truth[str(hit["id"])] for hit in hits], 1e-3, 1e-4)
    np.testing.assert_allclose(scores, sorted(truth.values(), reverse=True)[:LIMIT], 1e-3, 1e-4)


def check(site: Site) -> list[str]:
    """The findings of `tessera check --repair`; AssertionError for anything left."""
    with catalog_of(site) as catalog:
        findings = list(everything.check(catalog, site.settings.data, lambda *_: None))
        for finding in findings:
            assert finding.repair is not None, f"cannot be repaired: {finding}"
            finding.repair()
        left = list(everything.check(catalog, site.settings.data, lambda *_: None))
        assert not left, f"left after the repair: {left}"
    return [f"{finding.part}: {finding.problem}" for finding in findings]
