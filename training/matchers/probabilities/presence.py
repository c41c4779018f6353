"""Fitting of presence: a logistic regression from texts to directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
import torch.nn.functional as F
from torch import Tensor

from models.checkpoint import Checkpoint
from models.scores.presence import Presence
from models.scores.scoring import SumOfMax
from models.types import FragmentBag, PaddedBags
from training.data.corpus import Corpus, Example
from training.matchers.probabilities.calibration import halve
from training.matchers.probabilities.presence_truth import PresenceTruth, gather
from training.runs.progress import Progress, silent

PENALTY = 0.01  # on squares of A and β
STEPS, BATCH, RATE = 600, 512, 0.01  # of Adam, whose rate falls to 0
LIMITS_PENALTY, LIMITS_STEPS, LIMITS_RATE = 0.003, 400, 0.05  # the same of γ
CHECKED = 5  # every fifth photo is left out, to choose what all have in common
FALSE_SHARE = 0.05  # of absent things that are said to be there
LEAST_SHARE = 1e-4  # of things that are there, to begin with
MARGIN_STEPS = 50
LEAST_CHECKED, LEAST_AUC = 5, 0.75  # photos that show a thing, and how well it is told apart


@dataclass(frozen=True, slots=True)
class Logits:
    """The map of a Presence: A (D, D), β (D,), and a and d together (2,)."""

    directions: Tensor
    biases: Tensor
    scalars: Tensor

    @classmethod
    def start(cls, dimension: int, share: float) -> Logits:
        """Begin with the score, and the mean share of things."""
        return cls(
            torch.zeros(dimension, dimension, requires_grad=True),
            torch.zeros(dimension, requires_grad=True),
            torch.tensor([0.1, log(share / (1 - share))], requires_grad=True),
        )

    def of(self, images: PaddedBags, sums: Tensor) -> Tensor:
        """Log odds (K, N) of images (K, R, D) and texts' sums (N, D)."""
        toward = F.normalize(sums, dim=1)
        asked = self.scalars[0] * sums + toward @ self.directions.T
        best = torch.einsum("krd,nd->knr", images.vectors, asked)
        best = best.masked_fill(~images.mask[:, None], float("-inf")).amax(2)
        return best + self.scalars[1] + toward @ self.biases

    @torch.inference_mode()
    def of_all(self, truth: PresenceTruth) -> Tensor:
        """Log odds (K, N) of all photos and texts."""
        sums, starts = add_up(truth.texts), range(0, len(truth.images), BATCH)
        return torch.cat([self.of(pad(truth.images[k : k + BATCH]), sums) for k in starts])


@dataclass(frozen=True, slots=True)
class PresenceLimits:
    """Limits e + γᵀ h, for FALSE_SHARE of the photos without things."""

    weights: Tensor
    level: Tensor

    def of(self, sums: Tensor) -> Tensor:
        """The limits (N,) of texts' sums (N, D)."""
        return self.level + F.normalize(sums, dim=1) @ self.weights


def fit_for(
    loaded: Checkpoint, labelled: Sequence[Example], corpus: Corpus, progress: Progress = silent
) -> Presence:
    """Fit a calibrated matcher's presence on labelled and described photos.

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
    described = halve(corpus)[0][0].examples
    truth = gather(loaded.model, labelled, described, progress)
    return fit_presence(truth, progress)


def fit_presence(truth: PresenceTruth, progress: Progress = silent, seed: int = 0) -> Presence:
    """Fit on four fifths, check on the others, fit on all.

    What is checked are the things, which are the names that are told apart well enough, and by how
    much limits are too low, as they are measured on photos that were learned.
    """
    count = len(truth.images)
    checked = truth.photos(range(0, count, CHECKED))
    learned = truth.photos([k for k in range(count) if k % CHECKED])
    draft = fit_logits(learned, progress, seed)
    above = draft.of_all(checked) - fit_limits(draft, learned).of(add_up(truth.texts))
    low = torch.quantile(above[checked.shown == 0].double(), 1 - FALSE_SHARE)
    things = choose_things(above, checked)
    margin = fit_margin(above - low, checked.shown)
    fitted = fit_logits(truth, progress, seed)
    limits = fit_limits(fitted, truth)
    slope, level = fitted.scalars.tolist()
    return Presence(
        fitted.directions.detach().half().float(),  # as it is stored
        fitted.biases.detach(),
        limits.weights,
        slope,
        level,
        float(limits.level + low),
        margin,
        things,
    )


def choose_things(above: Tensor, checked: PresenceTruth) -> frozenset[str]:
    """The names with an AUC of LEAST_AUC by log odds (K, N)."""
    return frozenset(
        name
        for name, values, shown in zip(checked.names, above.T, checked.shown.T, strict=True)
        if int((shown == 1).sum()) >= LEAST_CHECKED
        and auc(values[shown == 1], values[shown == 0]) >= LEAST_AUC
    )


def auc(present: Tensor, absent: Tensor) -> float:
    """The share of pairs in the right order; ties count half.

    >>> auc(torch.tensor([2.0, 3.0]), torch.tensor([1.0, 2.0]))
    0.875
    """
    differences = present[:, None] - absent[None]
    return float((differences > 0).float().mean() + (differences == 0).float().mean() / 2)


def fit_margin(above: Tensor, shown: Tensor) -> float:
    """The log odds at the limit, for things in half of photos.

    Shapes: log odds above the limit and what is shown, both (K, N).
    """
    present, absent = shown == 1, shown == 0
    weights = present / present.sum(0).clamp_min(1) + absent / absent.sum(0).clamp_min(1)
    margin = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([margin], max_iter=MARGIN_STEPS)

    def loss() -> Tensor:
        optimizer.zero_grad()
        entropy = F.binary_cross_entropy_with_logits(
            above.double() + margin, present.double(), weights.double(), reduction="sum"
        )
        entropy.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        return entropy

    optimizer.step(loss)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return float(margin.detach())


def fit_logits(truth: PresenceTruth, progress: Progress, seed: int) -> Logits:
    """Fit by Adam on random batches of photos."""
    sums, labelled = add_up(truth.texts), truth.shown >= 0
    share = float((truth.shown == 1).sum() / labelled.sum())
    fitted = Logits.start(sums.shape[1], min(max(share, LEAST_SHARE), 1 - LEAST_SHARE))
    optimizer = torch.optim.Adam(
        [
            {"params": [fitted.directions, fitted.biases], "lr": RATE},
            {"params": [fitted.scalars], "lr": 3 * RATE},
        ]
    )
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, STEPS)
    generator = torch.Generator().manual_seed(seed)
    # As if all were labelled.
    weights = labelled.float() / labelled.sum(0).clamp_min(1) * len(labelled)
    for _ in progress(range(STEPS), STEPS, "presence"):
        batch = torch.randperm(len(labelled), generator=generator)[:BATCH]
        images = pad([truth.images[k] for k in batch.tolist()])
        shown = (truth.shown[batch] == 1).float()
        loss = F.binary_cross_entropy_with_logits(
            fitted.of(images, sums), shown, weights[batch], reduction="sum"
        )
        squares = fitted.directions.square().sum() + fitted.biases.square().sum()
        optimizer.zero_grad()
        penalized = loss / len(batch) + PENALTY * squares
        penalized.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        optimizer.step()
        schedule.step()
    return fitted


def fit_limits(fitted: Logits, truth: PresenceTruth) -> PresenceLimits:
    """Fit a quantile of the photos without each thing (Koenker & Bassett 1978), by Adam."""
    logits, sums, absent = fitted.of_all(truth), add_up(truth.texts), truth.shown == 0
    limits = PresenceLimits(
        torch.zeros(sums.shape[1], requires_grad=True), torch.zeros((), requires_grad=True)
    )
    optimizer = torch.optim.Adam([limits.weights, limits.level], LIMITS_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, LIMITS_STEPS)
    weights = absent / absent.sum(0).clamp_min(1)
    for _ in range(LIMITS_STEPS):
        above = logits - limits.of(sums)
        pinball = torch.maximum((1 - FALSE_SHARE) * above, -FALSE_SHARE * above)
        optimizer.zero_grad()
        loss = (pinball * weights).sum() + LIMITS_PENALTY * limits.weights.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        optimizer.step()
        schedule.step()
    return PresenceLimits(limits.weights.detach(), limits.level.detach())


def pad(images: Sequence[Tensor]) -> PaddedBags:
    """Bags in single precision as one batch."""
    return PaddedBags.of([image.float() for image in images])


def add_up(texts: Sequence[FragmentBag]) -> Tensor:
    """Σ_t s_t of texts, (N, D)."""
    return torch.stack([text.vectors.float().sum(0) for text in texts])
