"""Tessera's own index, by default and exactly.

It is used through the catalog, as by a service.

Only this file of the engines calls the index.
"""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.index.bags import Bags, BagSource, Side
from benchmarks.index.questions import of_photo, of_sentence
from benchmarks.index.truth import TOP
from index.catalog.catalog import Catalog
from index.items import Entry, Picture
from index.search import scan
from index.search.index import Index
from index.search.requests import Request
from index.segments import candidates
from index.segments import follower_process as following
from models.text.queries import Query
from models.types import Box, FragmentBag

BATCH = 256
NAME = "default"
DEFAULT = candidates.count_candidates


class Opened:
    """A data folder's catalog, its one collection and the index over it.

    With `live` the index follows in the background, and so does a follower's process.
    """

    def __init__(self, folder: Path, dimension: int, side: Side, *, live: bool = False) -> None:
        self.folder, self.side = folder, side
        self.catalog = Catalog.in_folder(folder)
        self.collection = self.catalog.names.make(
            NAME, fingerprint="benchmark", dimension=dimension, score="sum_of_max"
        )
        self.index = Index(self.catalog, self.collection, folder / following.SEGMENTS)
        self.follower = following.start(self.catalog.storage) if live else None
        if live:
            self.index.start()
            gc.collect()  # as the service does
            gc.freeze()

    def put(self, entries: Sequence[Entry]) -> None:
        """Store items."""
        self.catalog.put_many(self.collection, entries)

    def search(self, query: Query, limit: int, *, exact: bool = False) -> list[str]:
        """The ids of the best items, the best first."""
        request = Request(self.side, query, limit=limit, exact=exact)
        return [hit.item for hit in self.index.best(request).hits]

    def complete(self) -> None:
        """Index all stored items to the end."""
        following.catch_up(self.catalog, self.folder)

    def whole(self) -> bool:
        """Return whether all stored items are in searches."""
        return not self.index.snapshot().behind

    def close(self) -> None:
        """Let go of the database."""
        gc.unfreeze()
        self.index.close()
        if self.follower is not None:
            self.follower.kill()
            self.follower.wait()
        self.catalog.close()


def delete_derived(folder: Path) -> None:
    """Delete all derived files, for a cold start."""
    shutil.rmtree(folder / following.SEGMENTS)


class Tessera:
    """The index as in a service: with many bags, candidates first."""

    name, store = "Tessera", "tessera"
    exact = False

    def needs(self, source: BagSource) -> int:
        """Memory of a search, as files are mapped."""
        return len(source) * source.dimension + 2**28

    def build(self, source: BagSource, folder: Path) -> None:
        """Store everything and wait until it is indexed."""
        opened = Opened(folder, source.dimension, source.side)
        for batch in batches(source, BATCH):
            opened.put(batch)
        opened.complete()
        opened.close()

    def open(self, source: BagSource, folder: Path) -> None:
        """Open the data folder; segments of an earlier form are built again."""
        self.opened = Opened(folder, source.dimension, source.side)
        self.opened.complete()
        self.opened.index.start()

    def try_hard(self, effort: float) -> None:
        """Take a share of the default's candidates from now on."""
        candidates.count_candidates = lambda *sizes: max(TOP, round(effort * DEFAULT(*sizes)))

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """The best items, without their links."""
        return [int(item) for item in self.opened.search(query, limit, exact=self.exact)]

    def close(self) -> None:
        """Close the data folder."""
        candidates.count_candidates = DEFAULT
        self.opened.close()


class TesseraLinks(Tessera):
    """The index with the links and boxes of an answer."""

    name = "Tessera, with links"

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """The best items, with their links and boxes."""
        request = Request(self.opened.side, query, limit=limit)
        hits = self.opened.index.best(request).hits
        return [int(hit.item) for hit in hits if hit.links and hit.bag.places]


class TesseraExact(Tessera):
    """Every bag is scored."""

    name = "Tessera, exact"
    exact = True


class TesseraCodes(TesseraExact):
    """All bags scored from codes, without heads.

    This is the cost of an exact scan.
    """

    name = "Tessera, exact, without heads"

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """The best items, without bounds from heads."""
        many, scan.MANY = scan.MANY, 2**62  # no collection has as many
        try:
            return super().search(query, limit)
        finally:
            scan.MANY = many


def batches(source: BagSource, size: int) -> Iterator[list[Entry]]:
    """A source's bags as items, so many at a time."""
    start = 0
    for block in source.blocks():
        for at in range(0, len(block), size):
            stop = min(at + size, len(block))
            yield [entry(block, row, start + row, source.side) for row in range(at, stop)]
        start += len(block)


def entry(block: Bags, row: int, number: int, side: Side) -> Entry:
    """A bag as an item, with its number as its id."""
    vectors, item = block[row], f"{number:08}"
    if side == "sentences":
        bag = of_sentence(vectors).parts[0]
        return Entry(item, sentences=("w " * len(vectors),), bags=(bag,))
    bag = of_photo(vectors).parts[0]
    random = np.random.default_rng(number)
    low, high = random.uniform(0, 0.5, (2, len(bag))), random.uniform(0.5, 1, (2, len(bag)))
    boxes = tuple(Box(*edges) for edges in np.concatenate([low, high]).T.tolist())
    labels = ("whole photo", *(f"region {i}" for i in range(1, len(bag))))
    photo = FragmentBag(bag.vectors, boxes, labels)
    return Entry(item, pictures=(Picture(b"", 1, 1, ""),), images=(photo,))
