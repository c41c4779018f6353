"""Fragment objective: single fragments of a true pair agree, and no others."""

from __future__ import annotations

import torch
from torch import Tensor

from models.scores.reductions import sum_positive
from models.scores.scoring import products
from training.matchers.objectives import Match


def fragments(match: Match, mil: bool = False, balanced: bool = True) -> Tensor:
    """C_0 = Σ_i Σ_j max(0, 1 − y_ij v_iᵀ s_j)        (Karpathy et al. 2014, eq. 4).

    y_ij is 1 where fragments v_i and s_j are of an image and its own sentence, −1 elsewhere. With
    `mil` it is C_F of eq. 5, by the heuristic of mi-SVM: within a true pair y_ij is the sign of
    v_iᵀ s_j, and the best region of a sentence fragment is positive if none is. Gives a scalar.
    A batch has some hundred false pairs for each true one; `balanced` gives both the same weight
    for every sentence fragment and divides by their number, so that a batch's size does not matter:
    the paper's first version (arXiv:1406.5679) has constants in eq. 4 to this end.
    """
    similarity = match.products
    if similarity is None:
        similarity = products(match.images, match.sentences)
    real, fragments = match.images.mask, match.sentences.mask  # (K, R) and (L, T)
    regions = match.images.vectors[match.owners]  # (L, R, D) the regions of each sentence's image
    # Multiplied once more: taken from all products, their gradient would be as large as these.
    paired = (match.sentences.vectors @ regions.mT)[fragments]  # (N, R)
    positive = real[match.owners[fragments.nonzero()[:, 0]]]  # (N, R) where y_ij is 1
    if mil:
        detached = paired.detach().masked_fill(~positive, float("-inf"))
        best = torch.zeros_like(positive).scatter(1, detached.argmax(1, keepdim=True), value=True)
        positive = positive & ((detached > 0) | best)
    # The costs of all regions as if y_ij were -1, in one pass; those where it is 1 are taken off.
    as_negative = sum_positive(similarity, real, 1.0).sum(1)  # (N,)
    negative_cost = as_negative - ((1 + paired).relu() * positive).sum(1)
    positive_cost = ((1 - paired).relu() * positive).sum(1)
    if not balanced:
        return negative_cost.sum() + positive_cost.sum()
    positives = positive.sum(1)
    negatives = real.sum() - positives
    means = positive_cost / positives.clamp_min(1) + negative_cost / negatives.clamp_min(1)
    return means.mean()
