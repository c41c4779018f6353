"""Contrastive objective: images pick their sentences out of a batch, and sentences images."""

from __future__ import annotations

import torch
from torch import Tensor

from training.objectives.match import Match


def contrastive(match: Match, temperature: float = 1.0, smoothing: float = 0.0) -> Tensor:
    """C = −½ [mean_k mean_{l of k} log softmax_l(S_kl / τ) + mean_l log softmax_k(S_kl / τ)].

    Symmetric InfoNCE (Radford et al. 2021, section 2.3); an image with several sentences in the
    batch wants each of them. Gives a scalar. `smoothing` spreads that share of each target evenly
    over the batch.
    """
    logits, true = match.scores / temperature, match.true.to(match.scores)
    by_image = cross_entropy(logits, true / true.sum(1, keepdim=True), smoothing)
    by_sentence = cross_entropy(logits.T, true.T, smoothing)
    return (by_image + by_sentence) / 2


def cross_entropy(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """The mean over rows of logits (Q, C) whose targets (Q, C) add up to one each."""
    smooth = (1 - smoothing) * targets + smoothing / logits.shape[1]
    return -(smooth * torch.log_softmax(logits, dim=1)).sum(1).mean()
