"""Calibration of a captioner: the probability of a right caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray

from models.captions.calibration import CaptionCalibration
from models.checkpoint import Checkpoint
from training.captioners.describe import describe
from training.captioners.train import frozen_inputs
from training.data.corpus import Corpus, Example
from training.evaluation.captions.hallucination import compare_nouns
from training.evaluation.captions.measure import match_photos
from training.evaluation.captions.wordnet import WordNet
from training.evaluation.reliability import Reliability, reliability
from training.matchers.frozen import precision_of
from training.matchers.probabilities.calibration import SEED
from training.matchers.regression import logistic
from training.runs.folder import RunPlace
from training.runs.progress import Progress

RIGHT = 0.7  # of the captions that are not marked as guesses


@dataclass(frozen=True, slots=True)
class JudgedCaptions:
    """Captions: features (N, 5), and whether the photo's sentences name all nouns."""

    features: NDArray[np.float64]
    right: NDArray[np.bool_]

    @classmethod
    def join(cls, parts: Sequence[JudgedCaptions]) -> JudgedCaptions:
        """Join the captions of several sets of photos."""
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.right for part in parts]),
        )

    def select(self, positions: Sequence[int]) -> JudgedCaptions:
        """Select the captions at some positions."""
        return JudgedCaptions(self.features[positions], self.right[positions])

    def probabilities(self, calibration: CaptionCalibration) -> NDArray[np.float64]:
        """Compute the probability (N,) of each caption by a calibration."""
        return np.array([calibration.probability(tuple(row)) for row in self.features])

    def measure(self, calibration: CaptionCalibration) -> tuple[Reliability, dict[str, float]]:
        """Measure the reliability of a calibration, and the effect of its threshold."""
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
    place: RunPlace,
    progress: Progress,
    others: Sequence[Example] = (),
) -> tuple[CaptionCalibration, dict[str, Reliability]]:
    """Fit on half of val and other photos; measure on the rest.

    Val is the first corpus's; the others' val is measured, too.

    ValueError without a calibrated matcher, or for a captioner without kinds; LookupError for a
    corpus without val, or without WordNet.
    """
    if judge is None or judge.calibration is None:
        raise ValueError("captions are judged by a calibrated matcher: give one by --matcher")
    wordnet, (corpus, *checks) = WordNet(), corpora
    things = frozenset(filter(wordnet.is_thing, loaded.model.config.words))
    start = CaptionCalibration((0.0,) * 5, 0.0, judge.fingerprint, things)
    val, *judged_checks = (
        judge_captions(loaded, judge, source.split("val"), start, place, progress, wordnet)
        for source in corpora
    )
    order = Random(SEED).sample(range(len(val.right)), len(val.right))  # noqa: S311 - no secret
    half = len(order) // 2
    learned = val.select(sorted(order[:half]))
    if others:
        more = judge_captions(loaded, judge, others, start, place, progress, wordnet)
        learned = JudgedCaptions.join([learned, more])
    calibration = fit(learned, start)
    samples = {f"{corpus.name} val": val.select(sorted(order[half:]))}
    samples |= {
        f"{check.name} val": sample for check, sample in zip(checks, judged_checks, strict=True)
    }
    measurements = {name: sample.measure(calibration) for name, sample in samples.items()}
    facts = {name: asdict(curve) | shares for name, (curve, shares) in measurements.items()}
    curves = {name: curve for name, (curve, _) in measurements.items()}
    about = {"data": corpus.name, "others": len(others), "captions": facts}
    return replace(calibration, facts=about), curves


def judge_captions(
    loaded: Checkpoint,
    judge: Checkpoint,
    examples: Sequence[Example],
    start: CaptionCalibration,
    place: RunPlace,
    progress: Progress,
    wordnet: WordNet,
) -> JudgedCaptions:
    """Describe photos as a service does, and judge the captions.

    A photo's sentences judge, and its labels if it has any.
    """
    inputs, judge_inputs = (
        frozen_inputs(source.model, examples, place, precision_of(source), progress)
        for source in (loaded, judge)
    )
    captions = describe(
        loaded.model, examples, None, progress, inputs=inputs, judge=judge,
        judge_inputs=judge_inputs, calibrated=start,
    )  # fmt: skip
    features = [caption.features for caption in captions if caption.features is not None]
    if len(features) < len(captions):
        raise ValueError(
            "captions are calibrated by how familiar a photo is: run `tessera add-kinds` first"
        )
    _, _, wrong = compare_nouns(match_photos(captions, examples, {}), wordnet)
    return JudgedCaptions(np.array(features), np.array([not nouns for nouns in wrong]))


def fit(sample: JudgedCaptions, start: CaptionCalibration) -> CaptionCalibration:
    """A calibration from one without coefficients, by logistic regression.

    Features are scaled to deviation 1 for the fit.
    """
    x, y = torch.from_numpy(sample.features), torch.from_numpy(sample.right).double()
    mean, deviation = x.mean(0), x.std(0).clamp_min(1e-6)
    mean[-1], deviation[-1] = 0.0, 1.0  # the constant
    weights = logistic((x - mean) / deviation, y) / deviation
    weights[-1] -= (weights[:-1] * mean[:-1]).sum()
    calibration = replace(start, coefficients=tuple(weights.tolist()))
    return replace(
        calibration, unsure_below=choose_threshold(sample.probabilities(calibration), sample.right)
    )


def choose_threshold(probabilities: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Choose the least probability with RIGHT of captions right.

    ValueError where there is none.

    >>> choose_threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, True, False, True]))
    0.4
    """
    order = np.argsort(-probabilities, kind="stable")
    shares = right[order].cumsum() / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares >= RIGHT)
    if not len(enough):
        raise ValueError(f"at no probability are {RIGHT:.0%} of the captions right: train longer")
    return float(probabilities[order[enough[-1]]])
