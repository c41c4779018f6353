"""Offsets of sentences: what a sentence scores with any photo is taken off its scores."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.types import PaddedBags

WEIGHT = 0.7  # λ
TEMPERATURE = 2.0  # τ, in units of the score
SCALE = 0.1  # ε: sentences are compared with each other, too, and there offsets must be small


class Offsets(nn.Module):
    """S_kl + b_l with b_l = −λ τ log mean_j exp(r_jᵀ Σ_t s_t / τ), r_j the reference photos.

    Some sentences score high with every photo and so answer photos that they do not describe
    (hubs). The inverted softmax (Smith et al. 2017) divides by what a sentence gets over
    many photos; here those are whole photos of train, so that nothing about the searched ones
    is needed and the order of photos for a sentence stays. An offset is shared out over a
    sentence's fragments: every image fragment has 1 / ε as one more number, and each of T
    sentence fragments ε b_l / T.
    """

    references: Tensor

    def __init__(self, count: int, dimension: int) -> None:
        super().__init__()
        self.register_buffer("references", torch.zeros(count, dimension))

    def refer(self, photos: Tensor) -> None:
        """Take the whole-photo vectors (N, D) of the reference photos."""
        self.references.copy_(photos)

    def of(self, sums: Tensor) -> Tensor:
        """The offsets b (L,) of sentences with the sums of fragments (L, D)."""
        logits = sums.float() @ self.references.T / TEMPERATURE  # (L, N)
        mean = torch.logsumexp(logits, 1) - math.log(len(self.references))
        return -WEIGHT * TEMPERATURE * mean

    def images(self, bags: PaddedBags) -> PaddedBags:
        """Bags (K, R, D) with the number that meets the offsets, (K, R, D + 1)."""
        ones = torch.full_like(bags.vectors[..., :1], 1 / SCALE)
        return PaddedBags(torch.cat([bags.vectors, ones], -1), bags.mask)

    def sentences(self, bags: PaddedBags) -> PaddedBags:
        """Bags (L, T, D) with their offsets, (L, T, D + 1); there are none while training."""
        sizes = bags.mask.sum(1)
        sums = (bags.vectors * bags.mask[..., None]).sum(1)  # (L, D)
        offsets = torch.zeros_like(sums[:, 0]) if self.training else self.of(sums)
        shares = (SCALE * offsets / sizes)[:, None, None].expand(-1, bags.mask.shape[1], 1)
        return PaddedBags(torch.cat([bags.vectors, shares.to(bags.vectors)], -1), bags.mask)
