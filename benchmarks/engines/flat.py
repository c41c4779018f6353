"""FAISS's flat indexes over vectors of bags, or over fragments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np

from benchmarks.engines.engine import SINGLE, everything, highest, only_part
from benchmarks.index.bags import BagSource
from benchmarks.index.questions import summary
from models.text.queries import Query

NEAREST = 200  # fragments for each of the query's


class FlatSummaries:
    """One inner product a bag and nothing more: candidates alone."""

    name, store = "FAISS flat, one vector a bag", "none"

    def needs(self, source: BagSource) -> int:
        """A vector a bag."""
        return SINGLE * len(source) * source.dimension

    def build(self, source: BagSource, folder: Path) -> None:
        """Nothing lasts."""

    def open(self, source: BagSource, folder: Path) -> None:  # noqa: ARG002
        """Add the summaries."""
        self.side, self.index = source.side, faiss.IndexFlatIP(source.dimension)
        for block in source.blocks():
            self.index.add(block.summaries(source.side))

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """The highest products."""
        query_vector = summary(query, self.side)[None]  # (1, D)
        ids: list[int] = self.index.search(query_vector, limit)[1][0].tolist()
        return ids

    def close(self) -> None:
        """Forget the index."""
        del self.index


class FlatFragments:
    """The nearest fragments of each of the query's, summed by their bags.

    What is not among the nearest counts nothing: so late interaction was first served (ColBERT,
    Khattab & Zaharia 2020, 3.5).
    """

    name, store = "FAISS flat, all fragments", "none"

    def needs(self, source: BagSource) -> int:
        """All vectors once more."""
        return 2 * SINGLE * source.fragments * source.dimension

    def build(self, source: BagSource, folder: Path) -> None:
        """Nothing lasts."""

    def open(self, source: BagSource, folder: Path) -> None:  # noqa: ARG002 - the Protocol's
        """Add the fragments."""
        vectors, offsets = everything(source)
        self.side = source.side
        self.owners = np.repeat(np.arange(len(source)), np.diff(offsets))
        self.index = faiss.IndexFlatIP(source.dimension)
        self.index.add(vectors)

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """Sum the products of the neighbours, each of the summed side's once."""
        vectors = only_part(query)
        products, neighbours = self.index.search(vectors, min(NEAREST, self.index.ntotal))  # (T, n)
        rows, values = neighbours.ravel(), products.ravel()
        bags = self.owners[rows]
        summed = np.arange(len(vectors)).repeat(products.shape[1])
        summed = rows if self.side == "sentences" else summed
        order = np.lexsort((-values, summed, bags))
        bags, summed, values = bags[order], summed[order], values[order]
        first = np.r_[True, (np.diff(bags) != 0) | (np.diff(summed) != 0)]
        ids, place = np.unique(bags[first], return_inverse=True)
        scores = np.bincount(place, values[first]).astype(np.float32)
        best: list[int] = ids[highest(scores, limit)].tolist()
        return best

    def close(self) -> None:
        """Forget the index."""
        del self.index
        everything.cache_clear()
