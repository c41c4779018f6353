"""Photos or sentences that promise most, and the probabilities of these, without their bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.segments.rows import Numbers

BEST = 1_000  # photos, or sentences, of a search that are looked at


@dataclass(frozen=True, slots=True)
class Promising:
    """Rows by their items' revisions and their positions (M,), with probabilities from codes.

    An item may have several of them. asked: whether any were searched at all. coverage: the
    share of the collection that was.
    """

    revisions: Numbers
    positions: Numbers
    probabilities: NDArray[np.float64]
    asked: bool = True
    coverage: float = 1.0

    def of_items(self, revisions: Sequence[int]) -> list[tuple[int, int]]:
        """The revisions and positions of those that belong to items with some revisions."""
        chosen = np.flatnonzero(np.isin(self.revisions, revisions))
        pairs = zip(self.revisions[chosen].tolist(), self.positions[chosen].tolist(), strict=True)
        return list(pairs)


NONE = Promising(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), asked=False)
