"""Learning of a catalogue's terms: their photos and worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.checkpoint import Checkpoint
from models.matcher import TwoTowerMatcher
from models.scores.calibration import Calibration
from models.scores.terms import CatalogueTerms, evidence, words_of
from models.types import PaddedBags
from training.data import templates
from training.data.corpus import Example
from training.data.digests import digest
from training.matchers.probabilities.strengths import ProductPhotos, learn_strengths, weights_of
from training.matchers.regression import logistic, predict_held_out, ridge
from training.runs.progress import Progress, silent

FOLDS = 4  # of groups of products, each judged by what learned from the others
PENALTIES = (0.1, 0.3, 1.0)  # of ridge regressions, shares of the mean squared length
SHRINKAGE = 0.1  # of a covariance towards its mean variance
ENCODED = 128  # photos encoded at once


@dataclass(frozen=True, slots=True)
class TermOptions:
    """The [terms] of a preset: least products, most terms.

    least: the least products of a term; with fewer a photo's features say too little. most: the
    most frequent are taken, as every term is one more number of each fragment.
    """

    least: int = 5
    most: int = 256

    def __post_init__(self) -> None:
        if self.least < 2 or self.most < 1:
            raise ValueError(f"[terms] least {self.least}, most {self.most}: use at least 2 and 1")


@dataclass(frozen=True, slots=True)
class EncodedPhotos:
    """Encoded photos: whole features (K, C), and fragments (R_k, D) without terms."""

    features: Tensor
    bags: list[Tensor]

    @property
    def wholes(self) -> Tensor:
        """The whole-photo fragments (K, D)."""
        return torch.stack([bag[0] for bag in self.bags])


def choose_terms(examples: Sequence[Example], options: TermOptions) -> tuple[tuple[str, ...], ...]:
    """Choose frequent terms, the most frequent first, in all forms.

    Terms of nearly all products are left out. LookupError if there is no term.
    """
    counts = Counter(term for example in examples for term in example.terms)
    limit = len(examples) - options.least
    fitting = [term for term, count in counts.most_common() if options.least <= count <= limit]
    if not fitting:
        raise LookupError(
            f"no value of a field or query is shared by {options.least} of the "
            f"{len(examples):,} products, and not by all: there is no term to learn"
        )
    return tuple(templates.forms_of_term(term) for term in fitting[: options.most])


def learn_terms(
    start: Checkpoint,
    inputs: Sequence[Tensor],
    examples: Sequence[Example],
    terms: tuple[tuple[str, ...], ...],
    progress: Progress = silent,
) -> tuple[TwoTowerMatcher, Calibration]:
    """Give a checkpoint's matcher terms of a catalogue, and extend its calibration.

    `inputs` are the frozen inputs of the examples' photos, `terms` those of `choose_terms`. The
    general part stays as it is, and so do probabilities of texts without terms and of other photos.
    ValueError for a checkpoint without a calibration.
    """
    calibration = require_calibration(start)
    matcher = add_terms(start.model, terms)
    assert matcher.terms is not None
    photos = encode_photos(matcher, inputs, progress)
    weights = weights_of(examples, [forms[0] for forms in terms])
    probabilities = learn_photos(matcher.terms, photos.features, weights, folds_of(examples))
    learn_gate(matcher.terms, photos.wholes, calibration.photos)
    term_evidence = evidence(probabilities, matcher.terms.membership(photos.wholes))
    learn_strengths(
        matcher, calibration, ProductPhotos(examples, photos.bags, term_evidence), progress
    )
    return matcher, extend(calibration, matcher)


def require_calibration(start: Checkpoint) -> Calibration:
    """Return the calibration of a checkpoint to start from; ValueError without one."""
    if start.calibration is None:
        raise ValueError("terms need a calibrated start: run `tessera calibrate` on it first")
    return start.calibration


def add_terms(start: TwoTowerMatcher, terms: tuple[tuple[str, ...], ...]) -> TwoTowerMatcher:
    """Copy a matcher with terms, without any knowledge of them yet."""
    matcher = TwoTowerMatcher(replace(start.config, terms=terms))
    weights = {key: value for key, value in start.state_dict().items() if key[:6] != "terms."}
    matcher.load_state_dict(matcher.state_dict() | weights)
    return matcher.eval()


@torch.inference_mode()
def encode_photos(
    matcher: TwoTowerMatcher, inputs: Sequence[Tensor], progress: Progress = silent
) -> EncodedPhotos:
    """Photos by their frozen inputs."""
    features, bags = list[Tensor](), list[Tensor]()
    starts = range(0, len(inputs), ENCODED)
    for at in progress(starts, len(starts), "encoding"):
        padded = PaddedBags.of(inputs[at : at + ENCODED]).to(matcher.device)
        features.append(matcher.image.whole(padded).cpu())
        batch = matcher.encode_images(padded)
        bags += [bag[real].cpu() for bag, real in zip(batch.vectors, batch.mask, strict=True)]
    return EncodedPhotos(torch.cat(features), bags)


def folds_of(examples: Sequence[Example]) -> Tensor:
    """The fold (N,) of each product: groups stay together."""
    return torch.tensor([int(digest(example.group), 16) % FOLDS for example in examples])


def learn_photos(terms: CatalogueTerms, features: Tensor, weights: Tensor, folds: Tensor) -> Tensor:
    """Learn the photos of each term; return held-out probabilities (K, V).

    Ridge regressions of the weights, relative to a term's largest, then for each term a logistic
    one (Platt 1999, with his targets) of the held-out predictions: few photos of a term make its
    probabilities modest. The penalty is the one with the best held-out predictions.
    """
    true = (weights > 0).float()
    targets = weights / weights.amax(0)
    predicted = {
        penalty: predict_held_out(features, targets, folds, penalty) for penalty in PENALTIES
    }
    best = min(PENALTIES, key=lambda penalty: float((predicted[penalty] - targets).square().mean()))
    slope, shift = torch.stack(
        [platt(logits, is_true) for logits, is_true in zip(predicted[best].T, true.T, strict=True)]
    ).T
    weight, bias = ridge(features, targets, best)
    terms.weight.copy_(slope[:, None] * weight)
    terms.bias.copy_(slope * bias + shift)
    return torch.sigmoid(slope * predicted[best] + shift)


def platt(scores: Tensor, true: Tensor) -> Tensor:
    """Fit slope and shift of a logistic regression on scores (N,) (Platt 1999)."""
    positive, negative = float(true.sum()), float((1 - true).sum())
    targets = torch.where(true > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = scores.double().std().clamp_min(1e-12)
    x = torch.stack([scores.double() / scale, torch.ones(len(scores), dtype=torch.double)], 1)
    slope, shift = logistic(x, targets.double(), penalty=1e-6)
    return torch.stack([slope.clamp_min(0) / scale, shift]).float()


def learn_gate(terms: CatalogueTerms, ours: Tensor, references: Tensor) -> None:
    """Learn to tell the catalogue's photos from others: fragments (K, D), (N, D).

    Linear discriminant analysis (Fisher 1936) with equal shares and a shrunken covariance.
    """
    references = references[:, : ours.shape[1]]
    covariance = (torch.cov(ours.T) + torch.cov(references.T)) / 2
    spread = SHRINKAGE * covariance.diagonal().mean() * torch.eye(len(covariance))
    gate = torch.linalg.solve(covariance + spread, ours.mean(0) - references.mean(0))
    terms.gate.copy_(gate)
    terms.gate_bias.copy_(-(ours.mean(0) + references.mean(0)) @ gate / 2)


def extend(calibration: Calibration, matcher: TwoTowerMatcher) -> Calibration:
    """Extend a calibration to longer vectors; it knows the terms' words."""
    assert matcher.terms is not None
    photos, sentences = (
        torch.nn.functional.pad(vectors, (0, matcher.terms.numbers_added))
        for vectors in (calibration.photos, calibration.sentences)
    )
    words = {word for forms in matcher.config.terms for form in forms for word in words_of(form)}
    return replace(
        calibration,
        photos=photos,
        sentences=sentences,
        words=calibration.words | words,
        general=matcher.general,
    )
