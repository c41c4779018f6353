"""Labels objective: texts of labels prefer all of their photos."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from training.matchers.objectives import Match


def labels(match: Match, temperature: float = 1.0) -> Tensor:
    """C = ½ [mean_n mean_{k of n} log(1 + Σ_{j not of n} exp((S_jn − S_kn) / τ)) + of Sᵀ].

    A text of labels has many true photos in a batch, and a photo many true texts. Softmax over all
    would make true ones rivals of each other; here the rivals of a pair are only the photos that
    lack what the text names, and the texts of what the photo lacks. Labels are complete, so none of
    these is true. The score takes the best region for each word, so a label is learned from a bag
    of regions (Karpathy et al. 2014, eq. 5). Gives a scalar; ValueError without labels.
    """
    if match.labels is None:
        raise ValueError("labels learns from photos with labels: give [labels] in the preset")
    scores, true = match.labels.scores / temperature, match.labels.true
    return (prefer(scores.T, true.T) + prefer(scores, true)) / 2


def prefer(scores: Tensor, true: Tensor) -> Tensor:
    """Compute the mean cost of rows (Q, C) with false answers first."""
    rivals = scores.masked_fill(true, float("-inf")).logsumexp(1, keepdim=True)  # (Q, 1)
    costs = F.softplus(torch.where(true, rivals - scores, torch.zeros_like(scores))) * true
    counts = true.sum(1)
    answered = (counts > 0) & (counts < true.shape[1])
    if not answered.any():
        return scores.sum() * 0
    return (costs[answered].sum(1) / counts[answered]).mean()
