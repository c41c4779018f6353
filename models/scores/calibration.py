"""Calibration: from a pair's score to a probability, comparable between queries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from models.scores import alignment
from models.scores.kernels import Floats
from models.scores.presence import Presence
from models.scores.sentences import measure_lengths
from models.text.queries import Query
from models.types import Box, FragmentBag

Numbers = NDArray[np.int64]


class PairKind(Enum):
    """The kinds of pairs: the summed side in the other side, or a text and a text."""

    TEXT_IN_PHOTO = 0
    PHOTO_IN_PHOTO = 1
    TEXT_AND_TEXT = 2


PRECISION = 0.5  # the share of right hits that is expected above the line of weak ones
LEAST = 0.1  # what is less probable is weak in any case, next to however many sure hits


def find_weak_line(probabilities: NDArray[np.float32]) -> float:
    """The least of some probabilities (N,) from which on the mean of all is PRECISION.

    Without any it is PRECISION: every hit below that is weak. It is LEAST at least.

    >>> find_weak_line(np.array([0.3, 0.9, 0.1, 0.4], np.float32))
    0.3
    """
    ordered = np.sort(probabilities)[::-1].astype(np.float64)
    means = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    enough = np.flatnonzero(means >= PRECISION)
    return max(round(float(ordered[enough[-1]]), 6), LEAST) if len(enough) else PRECISION


def kind_of(part: FragmentBag, in_photos: bool) -> PairKind:
    """The kind of a query's part, for searches in photos or in texts."""
    if isinstance(part.places[0], Box):
        return PairKind.PHOTO_IN_PHOTO
    return PairKind.TEXT_IN_PHOTO if in_photos else PairKind.TEXT_AND_TEXT


@dataclass(frozen=True)  # no slots: it keeps what every search needs
class Calibration:
    """p = σ(a S + b log Σ_j exp(r_jᵀ Σ_t s_t) + c T + d), a logistic model for each kind of pair.

    S is the pair's score, and s_t are the T fragments on the summed side (Platt 1999, with two more
    terms). The second term is the summed side's strength at references r_j: `photos` (K, D),
    whole-photo fragments, or for texts and texts `sentences` (L, D), sums of fragments. The third
    makes texts of any length comparable. `coefficients` (kinds, 4) are a, b, c and d of each kind,
    those of texts and texts only if they were fitted to models.scores.sentences. There S is minus
    the angle of the sums, whose cosine is the score, and all sums have length one.

    A hit with a probability below `weak_below` is weak. `words` are words of the model's training
    outside English lexicons; `facts` describe the measurement. `general` is the count of numbers
    in a vector without those of a catalogue's terms, None if all (models.scores.terms). `presence`
    says whether a photo shows a thing; None if that was not fitted.
    """

    photos: Tensor
    sentences: Tensor
    coefficients: Tensor
    weak_below: float
    words: frozenset[str] = frozenset()
    facts: dict[str, Any] = field(default_factory=dict)
    general: int | None = None
    presence: Presence | None = None

    @property
    def compares_texts(self) -> bool:
        """Whether it has coefficients of a text and a text."""
        return len(self.coefficients) > PairKind.TEXT_AND_TEXT.value

    @cached_property
    def _unit_sentences(self) -> Floats:
        return _scale_to_one(self.sentences.numpy())

    @cached_property
    def _coefficients(self) -> NDArray[np.float64]:
        return self.coefficients.double().numpy()

    def drop_terms(self, query: Query, in_photos: bool) -> Query:
        """A query without a catalogue's terms in parts of the searched kind.

        Terms are a text's requests of a photo. Photos with photos, and texts with texts, are
        compared without them.
        """
        if self.general is None:
            return query
        parts = tuple(
            self.plain(part) if isinstance(part.places[0], Box) == in_photos else part
            for part in query.parts
        )
        return replace(query, parts=parts)

    def plain(self, bag: FragmentBag) -> FragmentBag:
        """A bag with zeros for numbers about terms."""
        vectors = bag.vectors.clone()
        vectors[:, self.general :] = 0
        return replace(bag, vectors=vectors)

    def features(self, kind: PairKind, scores: Floats, sums: Floats, sizes: Numbers) -> Floats:
        """The values (N, 4) for the coefficients.

        Shapes: scores (N,), sums Σ_t s_t (N, D) and sizes T (N,); or (1, D) and (1,) where one
        text or photo has all the scores.
        """
        # Not by torch: its functions cost a search several times as much.
        references = self.photos.numpy()
        if kind is PairKind.TEXT_AND_TEXT:
            scores = -np.arccos(scores.clip(-1, 1))
            sums, references = _scale_to_one(sums), self._unit_sentences
        answered = _measure_strength(sums, references)  # (N,) or (1,)
        features: Floats = np.empty((len(scores), 4), np.float32)
        features[:, 0], features[:, 1], features[:, 2], features[:, 3] = scores, answered, sizes, 1
        return features

    def probabilities(self, kind: PairKind, scores: Floats, sums: Floats, sizes: Numbers) -> Floats:
        """The probabilities (N,) of pairs of one kind; shapes as in `features`.

        The logistic function is computed in double precision, and term by term: in single its last
        bit depends on which other pairs are computed with a pair, as vector instructions round
        differently.
        """
        features = self.features(kind, scores, sums, sizes)
        terms = features * self._coefficients[kind.value]  # (N, 4)
        return logistic(terms[:, 0] + terms[:, 1] + terms[:, 2] + terms[:, 3])

    def of_query(
        self, query: Query, scores: Floats, in_photos: bool, gains: Floats | None = None
    ) -> Floats:
        """Probabilities (N,) of answers to a query, from its parts' scores (P, N).

        An answer is as probable as its least probable part; a negated part has 1 − p. Log odds of
        texts that are asked for rise by `gains` (N,), which words of the answers give.
        """
        least: Floats = np.ones(scores.shape[1], np.float32)
        parts = zip(query.parts, query.weights, query.conditions, scores, strict=True)
        text = PairKind.TEXT_IN_PHOTO
        for part, weight, condition, part_scores in parts:
            if condition is None:
                vectors = part.vectors.numpy(force=True)
                sums, size = vectors.sum(0, keepdims=True), np.array([len(vectors)])
                probability = self.probabilities(kind_of(part, in_photos), part_scores, sums, size)
            else:
                probability = logistic(part_scores + np.float64(condition.bias))
            if gains is not None and weight > 0 and kind_of(part, in_photos) is text:
                probability = raise_odds(probability, gains)
            least = np.minimum(least, probability if weight > 0 else 1 - probability)
        return least

    def score_of_odds(self, query: Query) -> float:
        """How much of a query's score a unit of log odds of its first text is."""
        parts = zip(query.parts, query.weights, query.conditions, strict=True)
        for part, weight, condition in parts:
            kind = kind_of(part, in_photos=True)
            if weight > 0 and kind is PairKind.TEXT_IN_PHOTO:
                slope = 1.0 if condition else float(self.coefficients[kind.value][0])
                return weight / slope if slope > 0 else weight
        return 1.0

    def of_pair(self, image: FragmentBag, query: Query, score: str, given: float = 0.0) -> float:
        """The probability of a photo for a query; 0 for a query without parts.

        `given` is what the words of the photo's item give to the score.
        """
        if not query.parts:
            return 0.0
        scores = [
            alignment.part_score(
                image, part, score, floored=counting.floored and counting.condition is None
            )
            for part, counting in zip(query.parts, query.countings, strict=True)
        ]
        gains = np.array([given / self.score_of_odds(query)], np.float32) if given else None
        column = np.array(scores, np.float32)[:, None]
        return float(self.of_query(query, column, True, gains)[0])


def logistic(log_odds: NDArray[np.float64]) -> Floats:
    """Probabilities (N,) of log odds (N,).

    >>> logistic(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    probabilities: NDArray[np.float64] = 1 / (1 + np.exp(np.minimum(-log_odds, 700)))
    return probabilities.astype(np.float32)


def raise_odds(probabilities: Floats, gains: Floats) -> Floats:
    """Probabilities (N,) with log odds raised by gains (N,); those without one stay to the bit.

    >>> raise_odds(np.array([0.5, 0.5]), np.array([0.0, np.log(3)])).tolist()
    [0.5, 0.75]
    """
    double = probabilities.astype(np.float64)
    odds = double * np.exp(gains, dtype=np.float64)
    raised: Floats = (odds / (1 - double + odds)).astype(np.float32)
    return np.where(gains > 0, raised, probabilities)


def _measure_strength(sums: Floats, references: Floats) -> Floats:
    """Compute log Σ_j exp(r_jᵀ s) of sums s (N, D) and references r (K, D), (N,)."""
    with np.errstate(over="ignore", divide="ignore"):  # of sums too long for single precision
        products = sums @ references.T
        highest: Floats = products.max(axis=1)
        highest = np.where(np.isfinite(highest), highest, np.float32(0))
        strengths: Floats = highest + np.log(np.exp(products - highest[:, None]).sum(axis=1))
    return strengths


def _scale_to_one(vectors: Floats) -> Floats:
    """Vectors (N, D) at length one; zeros stay."""
    scaled: Floats = (vectors / measure_lengths(vectors.astype(np.float64))[:, None]).astype(
        np.float32
    )
    return scaled
