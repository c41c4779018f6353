"""Fitting of presence: a map from texts to directions of photos, by logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import torch
import torch.nn.functional as F
from torch import Tensor

from models.checkpoint import Checkpoint
from models.scores.calibration import Calibration
from models.scores.presence import Presence
from models.scores.scoring import SumOfMax
from models.types import FragmentBag, PaddedBags
from training.data.corpus import Corpus, Example
from training.matchers.calibration import draw_halves
from training.matchers.presence_truth import PresenceTruth, gather
from training.runs.progress import Progress, silent

PENALTY = 0.1  # on squares of A and β
RATES_PENALTY = 0.01  # on squares of γ
STEPS, BATCH, RATE = 300, 512, 0.01  # of Adam, whose rate falls to 0
CHECKED = 5  # every fifth photo chooses the threshold
FALSE_SHARE = 0.05  # of absent things that are said to be there
LEAST_CHECKED, LEAST_AUC = 5, 0.75  # photos that show a thing, and how well it is told apart


@dataclass(slots=True)
class Parameters:
    """The numbers of a Presence while they are fitted."""

    directions: Tensor
    biases: Tensor
    rates: Tensor
    scalars: Tensor  # a, d, e

    @classmethod
    def start(cls, dimension: int, share: float) -> Parameters:
        """Begin with the score as it is, and the mean share of things."""
        odds = log(share / (1 - share))
        return cls(
            torch.zeros(dimension, dimension, requires_grad=True),
            torch.zeros(dimension, requires_grad=True),
            torch.zeros(dimension, requires_grad=True),
            torch.tensor([0.1, odds, odds], requires_grad=True),
        )

    def logits(self, images: PaddedBags, sums: Tensor) -> Tensor:
        """Log odds (K, N) of images (K, R, D) and texts' sums (N, D)."""
        toward = F.normalize(sums, dim=1)
        asked = self.scalars[0] * sums + toward @ self.directions.T
        best = torch.einsum("krd,nd->knr", images.vectors, asked)
        best = best.masked_fill(~images.mask[:, None], float("-inf")).amax(2)
        return best + self.scalars[1] + toward @ self.biases

    def usual(self, sums: Tensor) -> Tensor:
        """Log odds (N,) of texts' things in any photo."""
        return self.scalars[2] + F.normalize(sums, dim=1) @ self.rates

    def presence(self, least: float, things: frozenset[str]) -> Presence:
        """What was fitted, with its matrix in the half precision in which it is stored."""
        directions = self.directions.detach().half().float()
        slope, level, rate = self.scalars.tolist()
        return Presence(
            directions, self.biases.detach(), self.rates.detach(),
            slope, level, rate, least, things,
        )  # fmt: skip


def add_presence(
    loaded: Checkpoint, labelled: Sequence[Example], corpus: Corpus, progress: Progress = silent
) -> Calibration:
    """The calibration of a matcher with a presence, fitted on labelled and on described photos.

    ValueError for a matcher without a calibration, with a catalogue's terms or another score than
    the sum of maxima; LookupError for a corpus without val.
    """
    if loaded.calibration is None:
        raise ValueError("the matcher is not calibrated: run `tessera calibrate` first")
    if loaded.model.score != SumOfMax.name or getattr(loaded.model, "terms", None) is not None:
        raise ValueError(
            f"presence needs the score {SumOfMax.name} and no terms of a catalogue: fit it for the "
            "matcher that a catalogue's training starts from"
        )
    described = draw_halves(corpus.split("val"))[0]
    truth = gather(loaded.model, labelled, described, progress)
    return replace(loaded.calibration, presence=fit_presence(truth, progress))


def fit_presence(truth: PresenceTruth, progress: Progress = silent, seed: int = 0) -> Presence:
    """Fit on four fifths of the photos; the others choose the threshold, and then all fit.

    They also choose the things: the names by which they are told apart well enough.
    """
    count = len(truth.images)
    checked = truth.photos(range(0, count, CHECKED))
    draft = fit_parameters(truth.photos([k for k in range(count) if k % CHECKED]), progress, seed)
    evidence = measure_evidence(draft, checked)
    least = float(torch.quantile(evidence[checked.shown == 0].double(), 1 - FALSE_SHARE))
    things = choose_things(evidence, checked)
    return fit_parameters(truth, progress, seed).presence(least, things)


def choose_things(evidence: Tensor, checked: PresenceTruth) -> frozenset[str]:
    """The names whose evidence (K, N) tells photos apart with an AUC of LEAST_AUC."""
    return frozenset(
        name
        for name, values, shown in zip(checked.names, evidence.T, checked.shown.T, strict=True)
        if int((shown == 1).sum()) >= LEAST_CHECKED
        and auc(values[shown == 1], values[shown == 0]) >= LEAST_AUC
    )


def auc(there: Tensor, absent: Tensor) -> float:
    """The share of pairs in which what is there has the larger value; ties count half.

    >>> auc(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0]))
    0.875
    """
    differences = there[:, None] - absent[None]
    return float((differences > 0).float().mean() + (differences == 0).float().mean() / 2)


def fit_parameters(truth: PresenceTruth, progress: Progress, seed: int) -> Parameters:
    """Fit by Adam on random batches of photos."""
    sums = add_up(truth.texts)
    shown = truth.shown
    known = shown >= 0
    share = float((shown == 1).sum() / known.sum())
    fitted = Parameters.start(sums.shape[1], min(max(share, 1e-4), 1 - 1e-4))
    optimizer = torch.optim.Adam(
        [
            {"params": [fitted.directions, fitted.biases], "lr": RATE},
            {"params": [fitted.rates, fitted.scalars], "lr": 3 * RATE},
        ]
    )
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, STEPS)
    generator = torch.Generator().manual_seed(seed)
    weights = known.float() / known.sum(0).clamp_min(1) * len(shown)  # as if all were known
    for _ in progress(range(STEPS), STEPS, "presence"):
        batch = torch.randperm(len(shown), generator=generator)[:BATCH]
        images = PaddedBags.of([truth.images[k].float() for k in batch.tolist()])
        there = (shown[batch] == 1).float()
        logits = fitted.logits(images, sums)
        usual = fitted.usual(sums).expand_as(there)
        loss = (
            F.binary_cross_entropy_with_logits(logits, there, weights[batch], reduction="sum")
            + F.binary_cross_entropy_with_logits(usual, there, weights[batch], reduction="sum")
        ) / len(batch)
        loss = loss + PENALTY * (fitted.directions.square().sum() + fitted.biases.square().sum())
        loss = loss + RATES_PENALTY * fitted.rates.square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return fitted


@torch.inference_mode()
def measure_evidence(fitted: Parameters, truth: PresenceTruth) -> Tensor:
    """The evidence (K, N) of each thing in each photo."""
    sums = add_up(truth.texts)
    starts = range(0, len(truth.images), BATCH)
    logits = [
        fitted.logits(PaddedBags.of([x.float() for x in truth.images[k : k + BATCH]]), sums)
        for k in starts
    ]
    return torch.cat(logits) - fitted.usual(sums)


def add_up(texts: Sequence[FragmentBag]) -> Tensor:
    """Σ_t s_t of texts, (N, D)."""
    return torch.stack([text.vectors.float().sum(0) for text in texts])
