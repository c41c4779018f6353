"""Fitting of presence: a map from texts to directions of photos, by logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
import torch.nn.functional as F
from torch import Tensor

from models.scores.presence import Presence
from models.types import FragmentBag, PaddedBags
from training.runs.progress import Progress, silent

PENALTY = 0.1  # on squares of A and β
RATES_PENALTY = 0.01  # on squares of γ
STEPS, BATCH, RATE = 300, 512, 0.01  # of Adam, whose rate falls to 0
CHECKED = 5  # every fifth photo chooses the threshold
FALSE_SHARE = 0.05  # of absent things that are said to be there


@dataclass(frozen=True, slots=True)
class PresenceTruth:
    """Photos, texts that name things, and which photos show which.

    Shapes: images are K bags (R_k, D), texts N bags, and shown (K, N) is 1 where a thing is there,
    0 where it is not and −1 where that is not known.
    """

    images: Sequence[Tensor]
    texts: Sequence[FragmentBag]
    shown: Tensor

    def photos(self, positions: Sequence[int]) -> PresenceTruth:
        """Some of the photos."""
        chosen = list(positions)
        return PresenceTruth([self.images[k] for k in chosen], self.texts, self.shown[chosen])


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


def fit_presence(
    truth: PresenceTruth, things: frozenset[str], progress: Progress = silent, seed: int = 0
) -> Presence:
    """Fit on four fifths of the photos; the others choose the threshold, and then all fit."""
    count = len(truth.images)
    checked = truth.photos(range(0, count, CHECKED))
    others = truth.photos([k for k in range(count) if k % CHECKED])
    draft = fit_parameters(others, progress, seed)
    least = choose_least(draft, checked)
    return fit_parameters(truth, progress, seed).presence(least, things)


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


def choose_least(fitted: Parameters, checked: PresenceTruth) -> float:
    """The evidence that FALSE_SHARE of absent things reach."""
    evidence = measure_evidence(fitted, checked)
    return float(torch.quantile(evidence[checked.shown == 0].double(), 1 - FALSE_SHARE))


def add_up(texts: Sequence[FragmentBag]) -> Tensor:
    """Σ_t s_t of texts, (N, D)."""
    return torch.stack([text.vectors.float().sum(0) for text in texts])
