"""Order among hits, and how probable each is as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from index.search.query import Role
from index.segments.rows import Numbers
from models.scores.calibration import Calibration, PairKind
from models.scores.kernels import Floats
from models.text.queries import Query


class Key(NamedTuple):  # no dataclass: these are compared in a tenth of the time
    """Where a hit stands in a list: by score, the highest first, then by item id and position.

    Keys compare as their hits follow one another.
    """

    minus_score: float
    item: str
    position: int

    @property
    def score(self) -> float:
        """The hit's score."""
        return -self.minus_score


def probabilities(
    calibration: Calibration,
    query: Query,
    role: Role,
    scores: Floats,
    sums: Floats,
    sizes: Numbers,
    *,
    in_photos: bool,
) -> list[float]:
    """How probable rows are as answers, from the scores (P, N) of the query's parts.

    Where the rows are sentences, of `sizes` (N,) fragments with the sums (N, D).
    """
    if not scores.shape[1]:
        return []
    parts = torch.from_numpy(scores)
    if role is Role.QUERY_IS_SENTENCE:
        calibrated: Tensor = calibration.of_query(query, parts, in_photos)
    else:
        long = torch.from_numpy(sums.astype(np.float32))
        counts = torch.from_numpy(sizes)
        calibrated = calibration.probabilities(PairKind.TEXT_IN_PHOTO, parts[0], long, counts)
    listed: list[float] = calibrated.tolist()
    return listed


def totals(scores: Floats, weights: Sequence[float]) -> Floats:
    """Σ_p w_p S_p (N,) of the scores (P, N) of a query's parts.

    Each to the bit what it is among others: a product of matrices would round otherwise.
    """
    summed: Floats = np.zeros(scores.shape[1], np.float32)
    for weight, part in zip(weights, scores, strict=True):
        summed += np.float32(weight) * part
    return summed
