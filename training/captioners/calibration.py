"""Calibrating a captioner: how probable its captions are right, measured on photos apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray

from models.captions.calibration import CaptionCalibration
from models.checkpoint import Checkpoint
from training.captioners.describe import described
from training.captioners.train import frozen_inputs
from training.data.corpus import Corpus, Example
from training.evaluation.captions.descriptions import shown
from training.evaluation.captions.hallucination import compared
from training.evaluation.captions.wordnet import WordNet
from training.evaluation.reliability import Reliability, reliability
from training.matchers.calibration import SEED
from training.matchers.frozen import precision_of
from training.matchers.regression import logistic
from training.runs.folder import Place
from training.runs.progress import Progress

RIGHT = 0.7  # of the captions that are not marked as guesses


@dataclass(frozen=True, slots=True)
class Judged:
    """Captions: features (N, 5), and whether a sentence of the photo names each of their nouns."""

    features: NDArray[np.float64]
    right: NDArray[np.bool_]

    def some(self, positions: Sequence[int]) -> Judged:
        """Those at some positions."""
        return Judged(self.features[positions], self.right[positions])

    def probabilities(self, calibration: CaptionCalibration) -> NDArray[np.float64]:
        """How probable a calibration finds each caption, (N,)."""
        return np.array([calibration.probability(tuple(row)) for row in self.features])

    def measured(self, calibration: CaptionCalibration) -> tuple[Reliability, dict[str, float]]:
        """How reliable a calibration is, and what its threshold does to the captions."""
        probabilities = self.probabilities(calibration)
        sure = probabilities >= calibration.unsure_below
        return reliability(probabilities, self.right), {
            "sure": float(sure.mean()),
            "sure_right": float(self.right[sure].mean()),
            "right_sure": float(sure[self.right].mean()),
        }


def calibrate(
    loaded: Checkpoint,
    judge: Checkpoint | None,
    corpora: Sequence[Corpus],
    place: Place,
    progress: Progress,
) -> tuple[CaptionCalibration, dict[str, Reliability]]:
    """Fit on one half of the first corpus's val, and measure on the other and on the others' val.

    ValueError without a calibrated matcher, or for a captioner without kinds; LookupError for a
    corpus without val, or without WordNet.
    """
    if judge is None or judge.calibration is None:
        raise ValueError("captions are judged by a calibrated matcher: give one by --matcher")
    wordnet, (corpus, *checks) = WordNet(), corpora
    things = frozenset(filter(wordnet.is_thing, loaded.model.config.words))
    start = CaptionCalibration((0.0,) * 5, 0.0, judge.fingerprint, things)
    val, *judged_checks = (
        judged(loaded, judge, source.split("val"), start, place, progress, wordnet)
        for source in corpora
    )
    order = Random(SEED).sample(range(len(val.right)), len(val.right))  # noqa: S311 - no secret
    half = len(order) // 2
    calibration = fitted(val.some(sorted(order[:half])), start)
    samples = {f"{corpus.name} val": val.some(sorted(order[half:]))}
    samples |= {
        f"{check.name} val": sample for check, sample in zip(checks, judged_checks, strict=True)
    }
    measurements = {name: sample.measured(calibration) for name, sample in samples.items()}
    facts = {name: asdict(curve) | shares for name, (curve, shares) in measurements.items()}
    curves = {name: curve for name, (curve, _) in measurements.items()}
    about = {"data": corpus.name, "captions": facts}
    return replace(calibration, facts=about), curves


def judged(
    loaded: Checkpoint,
    judge: Checkpoint,
    examples: Sequence[Example],
    start: CaptionCalibration,
    place: Place,
    progress: Progress,
    wordnet: WordNet,
) -> Judged:
    """The caption of each photo as a service ranks it, judged by the photo's sentences."""
    inputs, judge_inputs = (
        frozen_inputs(one.model, examples, place, precision_of(one), progress)
        for one in (loaded, judge)
    )
    captions = described(
        loaded.model, examples, None, progress, inputs=inputs, judge=judge,
        judge_inputs=judge_inputs, calibrated=start,
    )  # fmt: skip
    features = [caption.features for caption in captions if caption.features is not None]
    if len(features) < len(captions):
        raise ValueError(
            "captions are calibrated by how familiar a photo is: run `tessera add-kinds` first"
        )
    _, _, wrong = compared(shown(captions, examples, {}), wordnet)
    return Judged(np.array(features), np.array([not nouns for nouns in wrong]))


def fitted(sample: Judged, start: CaptionCalibration) -> CaptionCalibration:
    """A calibration from one without coefficients, by logistic regression.

    Features are scaled to deviation 1 while they are fitted.
    """
    x, y = torch.from_numpy(sample.features), torch.from_numpy(sample.right).double()
    mean, deviation = x.mean(0), x.std(0).clamp_min(1e-6)
    mean[-1], deviation[-1] = 0.0, 1.0  # the constant
    weights = logistic((x - mean) / deviation, y) / deviation
    weights[-1] -= (weights[:-1] * mean[:-1]).sum()
    calibration = replace(start, coefficients=tuple(weights.tolist()))
    return replace(
        calibration, unsure_below=threshold(sample.probabilities(calibration), sample.right)
    )


def threshold(probabilities: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """The least probability from which on RIGHT of the captions are right.

    ValueError where there is none.

    >>> threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]))
    0.4
    """
    order = np.argsort(-probabilities, kind="stable")
    shares = right[order].cumsum() / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares >= RIGHT)
    if not len(enough):
        raise ValueError(f"at no probability are {RIGHT:.0%} of the captions right: train longer")
    return float(probabilities[order[enough[-1]]])
