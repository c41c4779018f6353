"""Probabilities of rows from their codes: which rows may be, and surely are, probable enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from index.search import ranking
from index.search.requests import Request
from index.search.scan import Scored
from models.scores.calibration import Calibration

SLACK = 0.01  # by how much a probability may be too small as sums are kept in half precision


def probabilities(
    calibration: Calibration, scored: Scored, request: Request, share: np.float32
) -> list[float]:
    """The probabilities of rows, if their scores are off by a share of their errors."""
    higher = share * np.sign(request.query.weights, dtype=np.float32)[:, None] * scored.errors
    return ranking.probabilities(
        calibration,
        request.query,
        request.role,
        scored.parts + higher,
        scored.rows.summaries[scored.numbers].astype(np.float32),
        scored.rows.sizes[scored.numbers],
        in_photos=request.side == "images",
    )


def probable(
    calibration: Calibration | None, scored: Scored, request: Request, share: np.float32
) -> Scored:
    """Those of the rows whose probability may be as high as is asked for.

    Their scores may be off by a share of their errors.
    """
    if request.least is None:
        return scored
    assert calibration is not None
    highest = np.array(probabilities(calibration, scored, request, share), np.float32)
    return scored.only(highest >= request.least - SLACK)


def surely_probable(
    calibration: Calibration | None, scored: Sequence[Scored], request: Request, share: np.float32
) -> NDArray[np.bool_]:
    """Which rows of all (N,) certainly are as probable as is asked for."""
    if request.least is None:
        return np.ones(sum(len(part.total) for part in scored), np.bool_)
    assert calibration is not None
    lowest = [np.array(probabilities(calibration, part, request, -share)) for part in scored]
    surely: NDArray[np.bool_] = np.concatenate([*lowest, np.empty(0)]) >= request.least + SLACK
    return surely
