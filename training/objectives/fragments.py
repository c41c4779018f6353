"""Fragment objective: single fragments of a true pair agree, and no others."""

from __future__ import annotations

import torch
from torch import Tensor

from models.scoring import products
from training.match import Match


def fragments(match: Match, mil: bool = False, balanced: bool = True) -> Tensor:
    """C_0 = Σ_i Σ_j max(0, 1 − y_ij v_iᵀ s_j)        (Karpathy et al. 2014, eq. 4).

    y_ij is 1 where fragments v_i and s_j are of an image and its own sentence, −1 elsewhere. With
    `mil` it is C_F of eq. 5, by the heuristic of mi-SVM: within a true pair y_ij is the sign of
    v_iᵀ s_j, and the best region of a sentence fragment is positive if none is. Gives a scalar.
    A batch has some hundred false pairs for each true one; `balanced` gives both the same weight
    for every sentence fragment and divides by their number, so that a batch's size does not matter:
    the paper's first version (arXiv:1406.5679) has constants in eq. 4 to this end.
    """
    R = match.images.mask.shape[1]
    similarity = match.products
    if similarity is None:
        similarity = products(match.images, match.sentences)
    similarity = similarity.flatten(1)  # (N, K · R)
    real = match.images.mask.reshape(1, -1)
    owner = match.owners[match.sentences.mask.nonzero()[:, 0]]  # (N,) the image of each fragment
    at = owner[:, None] * R + torch.arange(R, device=owner.device)  # (N, R) its own regions
    y = torch.full_like(similarity, -1.0).scatter(1, at, 1.0)
    if mil:
        paired = similarity.detach().gather(1, at)  # (N, R)
        paired = paired.masked_fill(~real.expand_as(similarity).gather(1, at), float("-inf"))
        signs = torch.where(paired > 0, 1.0, -1.0).to(y)
        y = y.scatter(1, at, signs.scatter(1, paired.argmax(1, keepdim=True), 1.0))
    cost = (1 - y * similarity).clamp_min(0) * real
    if not balanced:
        return cost.sum()
    positive, negative = (y > 0) & real, (y < 0) & real
    means = [(cost * chosen).sum(1) / chosen.sum(1).clamp_min(1) for chosen in (positive, negative)]
    return (means[0] + means[1]).mean()
