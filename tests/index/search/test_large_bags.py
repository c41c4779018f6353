"""Bags of one to 1,100 fragments are stored, scored exactly and explained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from index.catalog.catalog import Catalog
from index.items import Entry, Picture
from index.search.index import Index
from index.search.requests import Request
from index.segments.follower import Follower
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.types import Box, FragmentBag, PaddedBags, Span

DIMENSION = 32
SIZES = (1, 2, 20, 128, 747, 1_031, 1_100)
COPIES = 320  # small ones next to them, so that codes are kept
Scored = tuple[Index, dict[str, FragmentBag]]


def draw(seed: int, size: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(size, DIMENSION, generator=generator), dim=1)


def photo_of(seed: int, size: int) -> FragmentBag:
    boxes = tuple(Box(0, at / size, 1, (at + 1) / size) for at in range(size))
    return FragmentBag(draw(seed, size), boxes, tuple(f"region {at}" for at in range(size)))


@pytest.fixture(params=["max_sim", "sum_of_max"])
def sized(request: pytest.FixtureRequest, catalog: Catalog, tmp_path: Path) -> Iterator[Scored]:
    home = catalog.names.make("pages", fingerprint="f", dimension=DIMENSION, score=request.param)
    photos = {f"{size}": photo_of(size, size) for size in SIZES}
    photos |= {f"small {at}": photo_of(2_000 + at, 2) for at in range(COPIES)}
    picture = (Picture(b"jpeg", 4, 3, "0" * 64),)
    entries = [Entry(name, pictures=picture, images=(bag,)) for name, bag in photos.items()]
    catalog.put_many(home, entries)
    folder = tmp_path / "segments"
    follower = Follower(catalog, home, folder / home.token)
    while follower.step(flush=True):
        pass
    index = Index(catalog, home, folder)
    yield index, photos
    index.close()


def test_hits_of_any_size_have_the_sum_of_their_maxima(sized: Scored) -> None:
    index, photos = sized
    vectors, places = draw(0, 17), tuple(Span(at, at + 1) for at in range(17))
    query = Query.of(FragmentBag(vectors, places, tuple("abcdefghijklmnopq")))
    hits = index.best(Request("images", query, limit=len(photos))).hits
    assert {hit.item for hit in hits} == set(photos)
    ranked = PaddedBags.of([photos[hit.item].vectors for hit in hits])
    expected = SCORES["max_sim"](ranked, PaddedBags.of([vectors]))[:, 0]
    scores = torch.tensor([hit.score for hit in hits])
    torch.testing.assert_close(scores, expected, atol=2e-3, rtol=0)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    for hit in hits[: len(SIZES)]:
        assert sum(link.similarity for link in hit.links) == pytest.approx(hit.score, abs=1e-3)
        assert hit.bag.labels == photos[hit.item].labels
