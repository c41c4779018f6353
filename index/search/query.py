"""Parts of a query: their weights, exact scores and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numkong
import numpy as np
import torch
from torch import Tensor

from index.items import Collection
from index.segments.rows import Numbers, Side, offsets_of
from models.scores.calibration import Calibration, PairKind
from models.scores.kernels import Floats
from models.scores.scoring import Score
from models.text.queries import Query
from models.types import FragmentBag

FLOOR, NO_FLOOR = np.float32(0), np.float32(-np.inf)


class SentenceRole(Enum):
    """The sentence's side of a pair: its fragments are summed over."""

    QUERY_IS_SENTENCE = "query"
    ROWS_ARE_SENTENCES = "rows"


@dataclass(frozen=True, slots=True)
class QueryPart:
    """One part of a query, vectors (T, D), and its weight.

    The weight is below 0 if it is negated.
    floored: whether it counts only where a row has it, see Query.floored.
    """

    vectors: Floats
    weight: float
    floored: bool = False

    @property
    def negated(self) -> bool:
        """Whether the part lowers the score of rows that have it."""
        return self.weight < 0

    @property
    def least(self) -> np.float32:
        """The lower bound of a maximum over fragments."""
        return FLOOR if self.floored else NO_FLOOR


def exact(score: Score, vectors: Sequence[Floats], term: QueryPart, role: SentenceRole) -> Floats:
    """Score bags (F_b, D) for one part of a query: (B,).

    In single precision.
    Each is to the bit what it is among others, as a product of two vectors is.
    """
    offsets = offsets_of([len(bag) for bag in vectors])
    return exact_rows(score, np.concatenate(vectors), offsets, term, role)


def exact_rows(
    score: Score, vectors: Floats, offsets: Numbers, term: QueryPart, role: SentenceRole
) -> Floats:
    """Score bags like `exact`, of fragments offsets[b : b + 2] in (N, D)."""
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
        role is SentenceRole.QUERY_IS_SENTENCE,
        term.least,
        scores,
    )
    return scores


def check_query(
    query: Query, side: Side, collection: Collection, calibration: Calibration | None
) -> Query:
    """Check a query, and adapt it to a collection's matcher.

    ValueError for one without fragments, of another dimension, or not finite.
    """
    parts = tuple(_check_part(part, collection) for part in query.parts)
    if not parts:
        raise ValueError("the query has no fragments; give one with at least a word or region")
    query = replace(query, parts=parts)
    return calibration.drop_terms(query, side == "images") if calibration else query


def need_calibration(calibration: Calibration | None) -> Calibration:
    """The calibration of a matcher; ValueError where it has none."""
    if calibration is None:
        raise ValueError(
            "there are no probabilities to cut at: the matcher is not calibrated; "
            "run `tessera calibrate`, or leave min_probability out"
        )
    return calibration


def terms_of(query: Query) -> list[QueryPart]:
    """The parts of a query with their weights in its score."""
    return [
        QueryPart(part.vectors.numpy(), weight, floored)
        for part, weight, floored in zip(query.parts, query.weights, query.floored, strict=True)
    ]


def _check_part(part: FragmentBag, collection: Collection) -> FragmentBag:
    vectors = np.ascontiguousarray(part.vectors.detach().cpu().numpy(), np.float32)
    if not len(vectors):
        raise ValueError("the query has no fragments; give one with at least a word or region")
    if vectors.shape[1] != collection.dimension:
        raise ValueError(
            f"the query's vectors have {vectors.shape[1]} numbers, collection "
            f"{collection.name!r} holds vectors of {collection.dimension}"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("the query has a fragment vector that is not finite")
    return replace(part, vectors=torch.from_numpy(vectors))


def probabilities(
    calibration: Calibration,
    query: Query,
    role: SentenceRole,
    scores: Floats,
    sums: Floats,
    sizes: Numbers,
    *,
    in_photos: bool,
) -> list[float]:
    """The probabilities of rows as answers, from parts' scores (P, N).

    Where the rows are sentences, of `sizes` (N,) fragments with the sums (N, D).
    """
    if not scores.shape[1]:
        return []
    parts = torch.from_numpy(scores)
    if role is SentenceRole.QUERY_IS_SENTENCE:
        calibrated: Tensor = calibration.of_query(query, parts, in_photos)
    else:
        long = torch.from_numpy(sums.astype(np.float32))
        counts = torch.from_numpy(sizes)
        calibrated = calibration.probabilities(PairKind.TEXT_IN_PHOTO, parts[0], long, counts)
    listed: list[float] = calibrated.tolist()
    return listed


def totals(scores: Floats, weights: Sequence[float]) -> Floats:
    """Σ_p w_p S_p (N,) of the scores (P, N).

    Each to the bit what it is among others: a product of matrices would round otherwise.
    """
    summed: Floats = np.zeros(scores.shape[1], np.float32)
    for weight, part in zip(weights, scores, strict=True):
        summed += np.float32(weight) * part
    return summed
