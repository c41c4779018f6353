"""Parts of a query: their weights, exact scores and probabilities."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce

import numkong
import numpy as np
import torch
from numpy.typing import NDArray

from index.items import Collection
from index.segments.rows import Numbers, Side, offsets_of
from models.scores.calibration import Calibration, PairKind
from models.scores.kernels import Floats
from models.scores.scoring import SCORES, Score
from models.scores.sentences import unit_sums
from models.text.queries import Query
from models.text.things import Array, Condition
from models.types import Box, FragmentBag

FLOOR, NO_FLOOR = np.float32(0), np.float32(-np.inf)


class SentenceRole(Enum):
    """The sentence's side of a pair: its fragments are summed over.

    Two sentences are compared by models.scores.sentences.
    """

    QUERY_IS_SENTENCE = "query"
    ROWS_ARE_SENTENCES = "rows"
    BOTH_ARE_SENTENCES = "both"


@dataclass(frozen=True, slots=True)
class QueryPart:
    """One part of a query, vectors (T, D), and its weight.

    The weight is below 0 if it is negated. To compare sentences, T is 1: see terms_of.
    floored: whether it counts only where a row has it, see Query.floored. condition: when it does,
    if the part asks whether a thing is there.
    """

    vectors: Floats
    weight: float
    floored: bool = False
    condition: Condition | None = None

    @property
    def negated(self) -> bool:
        """Whether the part lowers the score of rows that have it."""
        return self.weight < 0

    @property
    def least(self) -> np.float32:
        """The lower bound of a maximum over fragments."""
        return FLOOR if self.bounded else NO_FLOOR

    @property
    def bounded(self) -> bool:
        """Whether maxima have a lower bound; what a condition counts is found afterwards."""
        return self.floored and self.condition is None

    @property
    def score_if_absent(self) -> np.float32 | None:
        """The score that lowers no row; None for a part that may raise rows."""
        if self.condition is not None:
            return NO_FLOOR if self.negated else None
        return FLOOR if self.negated and self.floored else None

    def count(self, scores: Array) -> Array:
        """What the part's scores (N,) give to those of the query."""
        condition = self.condition
        counted = scores if condition is None else condition.count(scores, negated=self.negated)
        return counted * float(self.weight)

    def widen(self, scores: Array, errors: Array) -> Array:
        """How far off what the part gives may be, where its scores are off by up to errors."""
        condition = self.condition
        widened = (
            errors if condition is None else condition.widen(scores, errors, negated=self.negated)
        )
        return widened * float(abs(self.weight))


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
    products = np.asarray(numkong.dots_packed(vectors, packed), np.float32)  # (N, T)
    score.kernel(
        products,
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


def exact_sentences(vectors: Floats, offsets: Numbers, term: QueryPart, width: int) -> Floats:
    """Compare sentences with a part of a text: cosines (B,).

    Their fragments are those of `exact_rows`, of which the first `width` numbers count.
    """
    units = unit_sums(vectors, offsets[:-1], width)
    alone = np.arange(len(units) + 1)
    return exact_rows(SCORES["sum_of_max"], units, alone, term, SentenceRole.QUERY_IS_SENTENCE)


def check_query(
    query: Query, side: Side, collection: Collection, calibration: Calibration | None
) -> Query:
    """Check a query, and adapt it to a collection's matcher.

    ValueError for one without fragments, of another dimension, or not finite, and for a text with
    a photo that asks for sentences.
    """
    parts = tuple(_check_part(part, collection) for part in query.parts)
    if not parts:
        raise ValueError("the query has no fragments; give one with at least a word or region")
    shown = any(isinstance(part.places[0], Box) for part in parts)
    if side == "sentences" and query.text is not None and shown:
        raise ValueError("sentences answer a text or a photo: ask for them with one of both")
    if any(new is not old for new, old in zip(parts, query.parts, strict=True)):
        query = replace(query, parts=parts)
    return calibration.drop_terms(query, side == "images") if calibration else query


def choose_calibration(calibration: Calibration | None, role: SentenceRole) -> Calibration | None:
    """Return a matcher's calibration, if it is one of such pairs."""
    if role is SentenceRole.BOTH_ARE_SENTENCES and calibration is not None:
        return calibration if calibration.compares_texts else None
    return calibration


def need_calibration(calibration: Calibration | None, role: SentenceRole) -> Calibration:
    """The calibration of a matcher; ValueError where it has none of such pairs."""
    if calibration is not None and choose_calibration(calibration, role) is None:
        raise ValueError(
            "there are no probabilities to cut at: the matcher was calibrated before sentences had "
            "probabilities of their own; run `tessera calibrate`, or leave min_probability out"
        )
    if calibration is None:
        raise ValueError(
            "there are no probabilities to cut at: the matcher is not calibrated; "
            "run `tessera calibrate`, or leave min_probability out"
        )
    return calibration


def general_width(query: Query) -> int:
    """The count of numbers in a query's vectors without a catalogue's terms."""
    bag = query.bag
    return bag.vectors.shape[1] - bag.of_terms


def terms_of(query: Query, role: SentenceRole) -> list[QueryPart]:
    """The parts of a query with their weights in its score.

    To compare sentences, the sums of their fragments at length one.
    """
    if role is SentenceRole.BOTH_ARE_SENTENCES:
        start, width = np.zeros(1, np.int64), general_width(query)
        return [
            QueryPart(unit_sums(part.vectors.numpy(), start, width), weight)
            for part, weight in zip(query.parts, query.weights, strict=True)
        ]
    return [
        QueryPart(part.vectors.numpy(), counting.weight, counting.floored, counting.condition)
        for part, counting in zip(query.parts, query.countings, strict=True)
    ]


def _check_part(part: FragmentBag, collection: Collection) -> FragmentBag:
    vectors = np.ascontiguousarray(part.vectors.numpy(force=True), np.float32)
    if not len(vectors):
        raise ValueError("the query has no fragments; give one with at least a word or region")
    if vectors.shape[1] != collection.dimension:
        raise ValueError(
            f"the query's vectors have {vectors.shape[1]} numbers, collection "
            f"{collection.name!r} holds vectors of {collection.dimension}"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("the query has a fragment vector that is not finite")
    if part.vectors.data_ptr() == vectors.ctypes.data and not part.vectors.requires_grad:
        return part  # nothing was converted or copied
    return replace(part, vectors=torch.from_numpy(vectors))


def probabilities(
    calibration: Calibration,
    query: Query,
    role: SentenceRole,
    scores: Floats,
    sums: Callable[[], Floats],
    sizes: Numbers,
    *,
    in_photos: bool,
    gains: Floats | None = None,
) -> NDArray[np.float64]:
    """The probabilities of rows as answers, from parts' scores (P, N) and words' gains (N,).

    Where the rows are sentences, of `sizes` (N,) fragments with the `sums` (N, D).
    """
    if not scores.shape[1]:
        return np.empty(0)
    if role is not SentenceRole.ROWS_ARE_SENTENCES:
        calibrated = calibration.of_query(query, scores, in_photos, gains)
    else:
        calibrated = calibration.probabilities(PairKind.TEXT_IN_PHOTO, scores[0], sums(), sizes)
    return calibrated.astype(np.float64)


def totals(scores: Array, terms: Sequence[QueryPart]) -> Array:
    """Σ_p w_p S_p (N,) of the scores (P, N) of a query's parts.

    Each to the bit what it is among others: a product of matrices would round otherwise.
    """
    counts = [term.count(part) for term, part in zip(terms, scores, strict=True)]
    summed: Array = reduce(operator.add, counts)
    return summed


def total_errors(scores: Array, errors: Array, terms: Sequence[QueryPart]) -> Array:
    """How far off totals (N,) may be, of scores (P, N) that are off by up to errors (P, N)."""
    pairs = zip(terms, scores, errors, strict=True)
    summed: Array = reduce(operator.add, [term.widen(part, off) for term, part, off in pairs])
    return summed
