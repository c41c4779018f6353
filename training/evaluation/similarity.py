"""Similarity of sentences of the same photo, among the sentences of others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training.evaluation.retrieval import Direction, Floats, direction, ranks


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
    return direction(ranks(np.where(off_diagonal, scores, -np.inf), true))
