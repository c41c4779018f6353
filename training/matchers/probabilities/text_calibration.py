"""Calibration of pairs of texts, for an otherwise calibrated matcher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

import torch

from models.checkpoint import Checkpoint
from models.scores.calibration import Calibration, PairKind
from training.data.corpus import Corpus
from training.evaluation.reliability import Reliability
from training.evaluation.true_answers import ParsedPhotos
from training.matchers.probabilities.calibration import (
    TEXTS,
    SearchedSplit,
    choose_pairs,
    fit,
    halve,
    prepare_split,
)
from training.runs.progress import Progress

KIND = PairKind.TEXT_AND_TEXT
EARLIER = ", texts in texts"  # a measurement of sums of maxima


def calibrate_texts(
    loaded: Checkpoint, corpus: Corpus, checks: Sequence[Corpus], progress: Progress
) -> tuple[Calibration, dict[str, Reliability]]:
    """Fit and measure as `calibrate` does, without a photo to embed.

    ValueError for a matcher whose other pairs are not calibrated.
    """
    if loaded.calibration is None:
        raise ValueError(
            f"the matcher {loaded.name} has no calibration to complete: leave --texts out"
        )
    (fitted, *held_out), matcher = embed_texts(loaded, corpus, checks, progress), loaded.model
    pairs = choose_pairs(loaded.calibration, matcher, fitted[1], KIND, "cpu")
    others = loaded.calibration.coefficients[: KIND.value]
    calibrated = replace(loaded.calibration, coefficients=torch.cat([others, fit(pairs)[None]]))
    curves = {
        name + TEXTS: choose_pairs(calibrated, matcher, split, KIND, "cpu").measure(calibrated)
        for name, split in held_out
    }
    earlier = loaded.calibration.facts.get("reliability", {})
    facts = {name: curve for name, curve in earlier.items() if not name.endswith(EARLIER)}
    facts |= {name: asdict(curve) for name, curve in curves.items()}
    return replace(calibrated, facts=loaded.calibration.facts | {"reliability": facts}), curves


def embed_texts(
    loaded: Checkpoint, corpus: Corpus, checks: Sequence[Corpus], progress: Progress
) -> Iterator[tuple[str, SearchedSplit]]:
    """Embed the texts of val's halves and of the checks."""
    for half, absent, _ in halve(corpus):
        yield (
            f"{corpus.name} val",
            prepare_split(loaded.model, half, [], absent, progress),
        )
    for check in checks:
        photos = ParsedPhotos.of(check.split("val"))
        yield f"{check.name} val", prepare_split(loaded.model, photos, [], [], progress)
