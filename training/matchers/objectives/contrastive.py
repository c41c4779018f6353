"""Contrastive objective: images pick their sentences, and the reverse."""

from __future__ import annotations

import torch
from torch import Tensor

from training.matchers.objectives import Match


def contrastive(match: Match, temperature: float = 1.0, smoothing: float = 0.0) -> Tensor:
    """C = −½ [mean_k mean_{l of k} log softmax_l(S_kl / τ) + mean_l log softmax_k(S_kl / τ)].

    Symmetric InfoNCE (Radford et al. 2021, section 2.3). An image with several sentences in the
    batch has all of them as targets, and a sentence with several images all of these, as in Khosla
    et al. 2020 (eq. 2), in proportion to the pairs' weights. `smoothing` spreads that share of each
    target evenly over the batch. Gives a scalar.
    """
    logits = match.scores / temperature
    true = (match.true if match.weights is None else match.weights).to(logits)
    by_image = cross_entropy(logits, shares(true), smoothing)
    by_sentence = cross_entropy(logits.T, shares(true.T), smoothing)
    return (by_image + by_sentence) / 2


def shares(weights: Tensor) -> Tensor:
    """Scale weights (Q, C) to targets with a sum of one.

    In each row.
    """
    return weights / weights.sum(1, keepdim=True)


def cross_entropy(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Compute the mean cross-entropy of logits (Q, C) with targets (Q, C)."""
    smooth = (1 - smoothing) * targets + smoothing / logits.shape[1]
    return -(smooth * torch.log_softmax(logits, dim=1)).sum(1).mean()
