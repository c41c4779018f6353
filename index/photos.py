"""Photos that promise most: scores and probabilities of a search's best, without their bags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.rows import Numbers
from models.scoring import Floats

BEST = 1_000  # photos of a search that are looked at


@dataclass(frozen=True, slots=True)
class Photos:
    """Items by revision (M,), with their photos' scores and probabilities (M,) from codes.

    asked: whether photos were searched at all.
    """

    revisions: Numbers
    scores: Floats
    probabilities: NDArray[np.float64]
    asked: bool = True


NONE = Photos(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0), asked=False)
