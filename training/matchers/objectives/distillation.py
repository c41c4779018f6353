"""Distillation: the distance of scores from other matchers' on the same batch."""

from __future__ import annotations

from torch import Tensor

from training.matchers.objectives import Match
from training.matchers.objectives.contrastive import cross_entropy


def distillation(match: Match, temperature: float = 2.0) -> Tensor:
    """D = −τ²/2 [mean_k Σ_l q_kl log p_kl + mean_l Σ_k q_lk log p_lk].

    p and q are as below.

    p are the softmaxes of S / τ over sentences and over images, q those of the teachers' mean score
    (Hinton, Vinyals & Dean 2015, section 2). "A dog runs" is no plain mistake for another running
    dog, and the teachers say how far it is from one. τ² keeps the gradient's size. Gives a scalar;
    ValueError without teachers.
    """
    if match.taught is None:
        raise ValueError("distillation learns from other matchers: name them in [teachers]")
    logits, taught = match.scores / temperature, match.taught / temperature
    by_image = cross_entropy(logits, taught.softmax(1))
    by_sentence = cross_entropy(logits.T, taught.T.softmax(1))
    return temperature**2 * (by_image + by_sentence) / 2
