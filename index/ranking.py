"""Scored rows in their order, and how probable each is as an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from index.candidates import Chosen
from index.rescorer import Floats, Role
from index.rows import Rows
from models.calibration import Calibration, Kind
from models.queries import Query


@dataclass(frozen=True, slots=True)
class Scored:
    """A row, its score for a query, and the scores (P,) of the query's parts."""

    rows: Rows
    row: int
    score: float
    parts: Floats

    @property
    def position(self) -> int:
        """Which bag of its item it is."""
        return int(self.rows.positions[self.row])


def best(
    chosen: Sequence[Chosen], scores: Sequence[Floats], weights: Sequence[float], count: int
) -> list[Scored]:
    """The best rows, from the scores (P, B) of each query part: ties by item id, then position."""
    totals = [np.array(weights, np.float32) @ own for own in scores]  # (B,) each
    together = np.concatenate([*totals, np.empty(0, np.float32)])
    least = np.partition(together, -count)[-count] if len(together) > count else -np.inf
    found = [
        Scored(part.rows, int(part.numbers[place]), float(total[place]), own[:, place])
        for part, own, total in zip(chosen, scores, totals, strict=True)
        for place in np.flatnonzero(total >= least)
    ]
    found.sort(key=lambda one: (-one.score, one.rows.item(one.row), one.position))
    return found[:count]


def probabilities(
    calibration: Calibration, query: Query, found: Sequence[Scored], role: Role, in_photos: bool
) -> list[float]:
    """How probable each row is as an answer to a query."""
    if not found:
        return []
    scores = torch.from_numpy(np.stack([one.parts for one in found], axis=1))  # (P, N)
    if role is Role.QUERY_IS_SENTENCE:
        told: Tensor = calibration.of_query(query, scores, in_photos)
    else:
        bags = [one.rows.fragments(one.row) for one in found]
        sums = torch.from_numpy(np.stack([bag.sum(axis=0) for bag in bags]))  # (N, D)
        sizes = torch.tensor([len(bag) for bag in bags])
        told = calibration.probabilities(Kind.TEXT_IN_PHOTO, scores[0], sums, sizes)
    listed: list[float] = told.tolist()
    return listed
