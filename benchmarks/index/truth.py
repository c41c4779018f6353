"""Exact answers by brute force, computed once for a collection and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.index.bags import Bags, BagSource, Floats, Side
from models.text.queries import Query

TOP = 10
STEP = 512  # bags multiplied at a time


@dataclass(frozen=True, slots=True)
class TrueAnswers:
    """The best bags of each query in order: ids (Q, TOP), scores (Q, TOP)."""

    ids: NDArray[np.int64]
    scores: Floats

    def recall(self, query: int, hits: Sequence[int]) -> float:
        """The share of a query's best among the hits."""
        return len(set(hits) & set(self.ids[query].tolist())) / len(self.ids[query])


def scores(bags: Bags, queries: Sequence[Query], side: Side) -> Floats:
    """The score of every bag for every query, (B, Q).

    Searching images, Σ_p w_p Σ_t max_i v_iᵀ s_t; what is floored counts from 0 on. Searching
    sentences, the stored fragments are summed over: Σ_t max_i, see models.text.queries.
    """
    blocks = [
        _scores(bags.part(start, min(start + STEP, len(bags))), queries, side)
        for start in range(0, len(bags), STEP)
    ]
    return np.concatenate(blocks)


def _scores(bags: Bags, queries: Sequence[Query], side: Side) -> Floats:
    parts = [part.vectors.numpy() for query in queries for part in query.parts]
    weights = np.array([weight for query in queries for weight in query.weights], np.float32)
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    links = bags.vectors.astype(np.float32) @ np.concatenate(parts).T  # (N, T)
    if side == "sentences":
        best = np.maximum.reduceat(links, starts, axis=1)  # (N, P)
        part_scores = np.add.reduceat(best, bags.offsets[:-1], axis=0)  # (B, P)
    else:
        best = _largest(links, bags)  # (B, T)
        floored = [floored for query in queries for floored in query.floored]
        floor = np.where(floored, np.float32(0), np.float32(-np.inf))
        best = np.maximum(best, np.repeat(floor, [len(part) for part in parts]))
        part_scores = np.add.reduceat(best, starts, axis=1)  # (B, P)
    owners = np.cumsum([0, *(len(query.parts) for query in queries)])[:-1]
    return np.add.reduceat(part_scores * weights, owners, axis=1)


def _largest(links: Floats, bags: Bags) -> Floats:
    """The maximum over each bag's fragments: (N, T) to (B, T)."""
    if bags.fragments:
        most: Floats = links.reshape(len(bags), bags.fragments, -1).max(1)
        return most
    return np.maximum.reduceat(links, bags.offsets[:-1], axis=0)


def best(ids: NDArray[np.int64], values: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
    """The highest values (N, Q) and their ids: (count, Q), ties by the lowest id."""
    order = np.lexsort((ids, -values), axis=0)[:count]
    return np.take_along_axis(ids, order, 0), np.take_along_axis(values, order, 0)


def find(
    source: BagSource,
    queries: Sequence[Query],
    folder: Path,
    blocks: Callable[[], Iterable[Bags]] | None = None,
) -> TrueAnswers:
    """The best bags for each query, cached in a file.

    `blocks` gives the source's bags to whom does something else with them in the same pass.
    """
    vectors = [part.vectors.numpy().tobytes() for query in queries for part in query.parts]
    key = hashlib.sha256(b"".join(vectors)).hexdigest()[:12]
    path = folder / f"truth-{source.key}-{key}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        truth = _find((blocks or source.blocks)(), queries, source.side)
        np.savez(path.with_suffix(".partial.npz"), ids=truth.ids, scores=truth.scores)
        path.with_suffix(".partial.npz").replace(path)
    stored = np.load(path)
    return TrueAnswers(stored["ids"], stored["scores"])


def _find(blocks: Iterable[Bags], queries: Sequence[Query], side: Side) -> TrueAnswers:
    ids = np.empty((0, len(queries)), np.int64)
    values = np.empty((0, len(queries)), np.float32)
    start = 0
    for block in blocks:
        block_ids = np.arange(start, start + len(block))[:, None].repeat(len(queries), 1)
        ids, values = best(
            np.concatenate([ids, block_ids]),
            np.concatenate([values, scores(block, queries, side)]),
            TOP,
        )
        start += len(block)
    return TrueAnswers(ids.T.copy(), values.T.copy())
