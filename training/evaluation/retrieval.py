"""Retrieval metrics: recall at K and median rank, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction's ranks in brief: recalls in percent, ranks from 1."""

    recall_1: float
    recall_5: float
    recall_10: float
    median_rank: float
    mean_rank: float


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Image annotation (images as queries) and image search (sentences as queries)."""

    annotation: Direction
    search: Direction

    @property
    def recall_sum(self) -> float:
        """The sum of all six recalls, at most 600.

        The best epoch has the largest.
        """
        directions = (self.annotation, self.search)
        return sum(side.recall_1 + side.recall_5 + side.recall_10 for side in directions)


def retrieval(scores: Floats, owners: Sequence[int]) -> Retrieval:
    """Compute both directions' metrics of scores (K, L); owners[l] is l's image.

    An image is answered by any of its sentences; the best one counts. ValueError for a NaN score,
    which would compare false with everything and so read as a perfect rank.
    """
    if scores.ndim != 2 or len(owners) != scores.shape[1]:
        raise ValueError(f"scores are {scores.shape} for {len(owners)} sentences; expected (K, L)")
    return rank_pairs(scores, np.arange(len(scores))[:, None] == np.asarray(owners)[None, :])


def rank_pairs(scores: Floats, true: NDArray[np.bool_]) -> Retrieval:
    """Compute both directions' metrics of scores (K, L) and true pairs (K, L).

    A sentence of several images is answered by any of them. ValueError as in `retrieval`.
    """
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum()):,} of the scores are NaN")
    return Retrieval(summarise(find_ranks(scores, true)), summarise(find_ranks(scores.T, true.T)))


def rank_first_sentences(scores: Floats, owners: Sequence[int]) -> Retrieval:
    """Compute both directions with the first sentence of each image alone.

    The protocol marked (*) in table 2 of Karpathy et al. 2014, after Hodosh et al. 2013.
    """
    photos, firsts = np.unique(np.asarray(owners), return_index=True)
    return retrieval(scores[:, firsts], photos.tolist())


def find_ranks(scores: Floats, true: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Find the rank (Q,), from 1, of each query's best true answer.

    Scores are (Q, C) of candidates. Ties count against us: every false answer with the same score
    stands before the true one, so a model that gives all pairs one score has the worst ranks and
    not the best.
    """
    if not true.any(axis=1).all():
        missing = np.flatnonzero(~true.any(axis=1))
        raise ValueError(f"{len(missing)} queries have no true answer, the first is {missing[0]}")
    best = np.where(true, scores, -np.inf).max(axis=1, keepdims=True)  # (Q, 1)
    above: NDArray[np.int64] = ((scores >= best) & ~true).sum(axis=1)  # (Q,)
    return 1 + above


def summarise(ranks: NDArray[np.int64]) -> Direction:
    """Recalls and mean ranks of ranks (Q,)."""
    recall_1, recall_5, recall_10 = (100 * float((ranks <= k).mean()) for k in (1, 5, 10))
    median, mean = float(np.median(ranks)), float(ranks.mean())
    return Direction(recall_1, recall_5, recall_10, median, mean)


def similarity(scores: Floats, owners: Sequence[int]) -> Direction:
    """The rank of the nearest sentence of the same photo   (Socher et al. 2014, section 6.1).

    scores[q, l] is how well sentence l answers sentence q, (L, L); owners[l] is its photo. A
    sentence is no answer to itself. Table 1 (left) reports the mean rank.

    Raises ValueError where scores are NaN or of another shape, or a photo has one sentence alone.
    """
    L = len(owners)
    if scores.shape != (L, L):
        raise ValueError(f"scores are {scores.shape} for {L} sentences; expected ({L}, {L})")
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum()):,} of the scores are NaN")
    off_diagonal = ~np.eye(L, dtype=bool)
    photos = np.asarray(owners)
    true = (photos[:, None] == photos[None, :]) & off_diagonal
    return summarise(find_ranks(np.where(off_diagonal, scores, -np.inf), true))
