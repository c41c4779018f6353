"""Calibration without labels, from chance scores of reference photos and sentences.

A query's scores with references that do not answer it have a level and a spread. How far a hit is
above that level, in spreads, is worth about as much for one matcher as for another. The numbers
here are of matchers whose truth is known: of texts in photos fitted on some and tested on others,
of other kinds a compromise of all (benchmarks.models.unlabelled_probabilities, decision 0047).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.registry import Matcher
from models.scores.calibration import Calibration, PairKind
from models.types import FragmentBag
from training.evaluation.score_matrix import score_matrix, sum_to_units
from training.matchers.probabilities.calibration import REFERENCES, pick_evenly

Floats = NDArray[np.float64]
SPREAD = 1.4826  # a normal distribution's deviation, in median absolute deviations
LEAST_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class Worth:
    """Log odds of a hit z spreads above chance: slope z + level."""

    slope: float
    level: float


WORTH = {
    PairKind.TEXT_IN_PHOTO: Worth(0.49, -3.96),
    PairKind.PHOTO_IN_PHOTO: Worth(0.4, -3.9),
    PairKind.TEXT_AND_TEXT: Worth(0.4, -3.9),
}
WEAK_BELOW = 0.1  # the best F2 of hits that have labels is at 0.08 there, and at 0.12 as shipped


@dataclass(frozen=True, slots=True)
class Chance:
    """The level of scores by chance, a linear map (3,), and their spread.

    The map's features are those of models.scores.calibration without the score: the strength at
    references, the number of fragments, and one.
    """

    level: Tensor
    spread: float

    def coefficients(self, worth: Worth) -> Tensor:
        """The coefficients (4,) of a calibration: log odds slope (S − level) / spread + level."""
        slope = worth.slope / self.spread
        others = -slope * self.level
        others[-1] += worth.level
        return torch.cat([torch.tensor([slope]), others])


def calibrate_unlabelled(
    matcher: Matcher,
    photos: Sequence[FragmentBag],
    sentences: Sequence[FragmentBag],
    worth: Mapping[PairKind, Worth] = WORTH,
) -> Calibration:
    """Estimate a calibration from unlabelled photos and sentences.

    ValueError for fewer than three of either.
    """
    if min(len(photos), len(sentences)) < 3:
        raise ValueError(
            f"{len(photos)} photos and {len(sentences)} sentences are too few to estimate "
            "probabilities from; give 3 or more of each"
        )
    raw = Calibration(
        torch.stack([bag.vectors[0] for bag in pick_evenly(photos, REFERENCES, 0)]).half().float(),
        torch.stack([bag.vectors.sum(0) for bag in sentences]).half().float(),
        torch.zeros(len(PairKind), 4),
        WEAK_BELOW,
    )
    chances = [find_chance(raw, matcher.score, kind, photos, sentences) for kind in PairKind]
    coefficients = [
        chance.coefficients(worth[kind]) for kind, chance in zip(PairKind, chances, strict=True)
    ]
    facts = {"data": f"{len(photos)} photos without captions", "estimated": True}
    return Calibration(
        raw.photos, raw.sentences, torch.stack(coefficients), WEAK_BELOW, facts=facts
    )


def find_chance(
    raw: Calibration,
    score: str,
    kind: PairKind,
    photos: Sequence[FragmentBag],
    sentences: Sequence[FragmentBag],
) -> Chance:
    """Find level and spread of the references' scores with each other."""
    queries = photos if kind is PairKind.PHOTO_IN_PHOTO else sentences
    rows = sentences if kind is PairKind.TEXT_AND_TEXT else photos
    scores = score_references(kind, queries, rows, score)  # (K, L)
    sums = torch.stack([bag.vectors.float().sum(0) for bag in queries]).numpy()
    sizes, none = np.array([len(bag) for bag in queries]), np.zeros(len(queries), np.float32)
    features = torch.from_numpy(raw.features(kind, none, sums, sizes)[:, 1:]).double()  # (L, 3)
    medians = torch.from_numpy(np.nanmedian(scores, axis=0))  # (L,)
    level = torch.linalg.lstsq(features, medians[:, None], driver="gelsd").solution[:, 0]
    residuals = scores - (features @ level).numpy()
    spread = SPREAD * float(np.nanmedian(np.abs(residuals)))
    return Chance(level.float(), max(spread, LEAST_SPREAD))


def score_references(
    kind: PairKind, queries: Sequence[FragmentBag], rows: Sequence[FragmentBag], score: str
) -> Floats:
    """Score rows (K) for queries (L); NaN for one with itself."""
    if kind is PairKind.TEXT_AND_TEXT:
        cosines = (sum_to_units(rows) @ sum_to_units(queries).T).clip(-1, 1)
        scores: Floats = -np.arccos(cosines.astype(np.float64))
    else:
        sides = ([bag.vectors.float() for bag in side] for side in (rows, queries))
        scores = score_matrix(next(sides), next(sides), score, "cpu").astype(np.float64)
    if queries is rows:
        np.fill_diagonal(scores, np.nan)
    return scores
