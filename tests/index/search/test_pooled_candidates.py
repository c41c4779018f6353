"""Candidates of photos by means of their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from index.catalog.catalog import Catalog
from index.items import Collection, Entry, Picture
from index.search.index import Index
from index.search.requests import Answer, Request
from index.segments import candidates, pooled
from index.segments.follower import Follower
from models.text.queries import Query
from models.types import Box, FragmentBag, Span

PHOTOS, PATCHES, THINGS, DIMENSION = 600, 32, 200, 16
PICTURE = (Picture(b"jpeg", 4, 3, "0" * 64),)
generator = torch.Generator().manual_seed(0)
things = F.normalize(torch.randn(THINGS, DIMENSION, generator=generator), dim=1)
shown = torch.randint(THINGS, (PHOTOS + 1, 4), generator=generator)


def photo_of(number: int) -> Entry:
    """Four things of eight patches each."""
    patches = things[shown[number]].repeat_interleave(PATCHES // 4, 0)
    patches = F.normalize(patches + 0.1 * torch.randn(patches.shape, generator=generator), dim=1)
    boxes = tuple(Box(0, at / PATCHES, 1, (at + 1) / PATCHES) for at in range(PATCHES))
    bag = FragmentBag(patches, boxes, tuple(f"region {at}" for at in range(PATCHES)))
    return Entry(f"{number}", pictures=PICTURE, images=(bag,))


def words_of(number: int) -> FragmentBag:
    """A query of three of a photo's things."""
    return FragmentBag(things[shown[number, :3]], (Span(0, 1),) * 3, ("word",) * 3)


def publish(catalog: Catalog, home: Collection, folder: Path) -> None:
    follower = Follower(catalog, home, folder / home.token)
    while follower.step(flush=True):
        pass


@pytest.fixture
def filled(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Index, Collection]]:
    monkeypatch.setattr(candidates, "SCANNED", 100)
    home = catalog.names.make("pages", fingerprint="f", dimension=DIMENSION, score="max_sim")
    catalog.put_many(home, [photo_of(number) for number in range(PHOTOS)])
    publish(catalog, home, tmp_path)
    index = Index(catalog, home, tmp_path)
    yield index, home
    index.close()


def items(answer: Answer) -> list[str]:
    return [hit.item for hit in answer.hits]


def test_candidates_are_the_hits_of_all_photos(filled: tuple[Index, Collection]) -> None:
    index, _ = filled
    for number in range(0, PHOTOS, 40):
        asked = Request("images", Query.of(words_of(number)), limit=5)
        few, every = index.best(asked), index.best(Request("images", asked.query, 5, exact=True))
        assert (few.exact, every.exact) == (False, True)
        assert few.candidates < every.candidates == PHOTOS
        assert items(few) == items(every)
        assert [hit.score for hit in few.hits] == [hit.score for hit in every.hits]


def test_refused_things_lower_candidates_too(filled: tuple[Index, Collection]) -> None:
    index, _ = filled
    for number in range(0, PHOTOS, 60):
        refused = FragmentBag(things[shown[number, 3:]], (Span(2, 3),), ("other",))
        query = Query((words_of(number), refused), (1.0, -1.0), None)
        few = index.best(Request("images", query, limit=5))
        assert items(few) == items(index.best(Request("images", query, limit=5, exact=True)))


def test_photos_without_pooled_rows_are_candidates(
    filled: tuple[Index, Collection], catalog: Catalog
) -> None:
    index, home = filled
    catalog.put_many(home, [photo_of(PHOTOS)])  # in no segment yet
    answer = index.best(Request("images", Query.of(words_of(PHOTOS)), limit=1))
    assert (items(answer), answer.exact) == ([f"{PHOTOS}"], False)


def test_segments_of_former_versions_are_scanned(
    filled: tuple[Index, Collection],
    catalog: Catalog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, home = filled
    monkeypatch.setattr(pooled, "build", lambda *_: None)
    publish(catalog, home, tmp_path / "former")
    index = Index(catalog, home, tmp_path / "former")
    answer = index.best(Request("images", Query.of(words_of(0)), limit=1))
    assert (items(answer), answer.exact, answer.candidates) == (["0"], True, PHOTOS)
    index.close()
