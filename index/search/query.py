"""Parts of a query: their vectors and weights, and their exact scores with bags of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numkong
import numpy as np

from index.segments.rows import Numbers, offsets_of
from models.scores.kernels import Floats
from models.scores.scoring import Score

FLOOR, NO_FLOOR = np.float32(0), np.float32(-np.inf)


class Role(Enum):
    """Which side of a pair is the sentence: its fragments are the ones that are summed over."""

    QUERY_IS_SENTENCE = "query"
    ROWS_ARE_SENTENCES = "rows"


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a query, vectors (T, D), and its weight in the score: below 0 if negated.

    floored: whether it counts only where a row has it, see Query.floored.
    """

    vectors: Floats
    weight: float
    floored: bool = False

    @property
    def negated(self) -> bool:
        """Whether what a row has of it takes away from the score."""
        return self.weight < 0

    @property
    def least(self) -> np.float32:
        """What no maximum over fragments counts less than."""
        return FLOOR if self.floored else NO_FLOOR


def exact(score: Score, vectors: Sequence[Floats], term: Term, role: Role) -> Floats:
    """Scores (B,) of some bags (F_b, D) and one part of a query, in single precision.

    Each is to the bit what it is among others, as a product of two vectors is.
    """
    offsets = offsets_of([len(bag) for bag in vectors])
    return exact_rows(score, np.concatenate(vectors), offsets, term, role)


def exact_rows(score: Score, vectors: Floats, offsets: Numbers, term: Term, role: Role) -> Floats:
    """As `exact`, of bags with the fragments offsets[b : b + 2] of vectors (N, D)."""
    scores = np.empty(len(offsets) - 1, np.float32)
    packed = numkong.dots_pack(np.ascontiguousarray(term.vectors))
    products = np.asarray(numkong.dots_packed(vectors, packed))  # (N, T)
    score.kernel(
        products.astype(np.float32),
        offsets,
        np.ones(len(scores), np.float32),
        np.ones(len(term.vectors), np.float32),
        np.zeros((len(scores), len(term.vectors)), np.float32),
        np.zeros(len(products), np.float32),
        role is Role.QUERY_IS_SENTENCE,
        term.least,
        scores,
    )
    return scores
