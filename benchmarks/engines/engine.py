"""Interface of engines in benchmarks: bags in, ids of the best out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.index.bags import BagSource, Floats
from models.text.queries import Query

SINGLE = 4  # bytes of a number in single precision


class Unable(Exception):
    """A request beyond an engine's abilities; the page shows the message."""


class SearchEngine(Protocol):
    """A way to search images or sentences, one at a time.

    Engines of one `store` share what they have on disk. Ids count the source's bags from 0.
    """

    name: str
    store: str

    def needs(self, source: BagSource) -> int:
        """The approximate memory of the engine, in bytes."""
        ...

    def build(self, source: BagSource, folder: Path) -> None:
        """Write the lasting files into an empty folder; Unable if it cannot."""
        ...

    def open(self, source: BagSource, folder: Path) -> None:
        """Open the files of `build` for searches."""
        ...

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """The ids of the best, in order.

        Unable for an unsupported kind of query.
        """
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class EffortEngine(SearchEngine, Protocol):
    """An engine with a choice of fewer or more candidates."""

    def try_hard(self, effort: float) -> None:
        """Search with an effort from now on."""
        ...


@lru_cache(maxsize=1)
def everything(source: BagSource) -> tuple[Floats, NDArray[np.int64]]:
    """All fragments (N, D) in single precision, and the bags' offsets (B + 1,).

    Kept, so that engines that need all in memory share it.
    """
    sizes = np.concatenate([np.diff(block.offsets) for block in source.blocks()])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    vectors = np.empty((int(offsets[-1]), source.dimension), np.float32)
    filled = 0
    for block in source.blocks():
        vectors[filled : filled + len(block.vectors)] = block.vectors
        filled += len(block.vectors)
    return vectors, offsets


def highest(scores: Floats, limit: int) -> list[int]:
    """The places of the highest scores, in order."""
    limit = min(limit, len(scores))
    chosen = np.argpartition(-scores, limit - 1)[:limit]
    order: list[int] = chosen[np.argsort(-scores[chosen])].tolist()
    return order


def only_part(query: Query) -> Floats:
    """The vectors (T, D) of a query of one part; Unable for more."""
    if len(query.parts) > 1:
        raise Unable("has no sum in which nothing counts below zero")
    vectors: Floats = query.parts[0].vectors.numpy()
    return vectors
