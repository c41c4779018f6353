"""How well images answer sentences: bags in, (K, L) scores out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from models.types import PaddedBags


def sum_of_max(images: PaddedBags, sentences: PaddedBags) -> Tensor:
    """S_kl = Σ_{t ∈ g_l} max_{i ∈ g_k} v_iᵀ s_t    (Karpathy & Fei-Fei 2015, eq. 8).

    Shapes: images (K, R, D), sentences (L, T, D) give (K, L). Only real words are multiplied:
    in a batch of sentences half of the places are padding.
    """
    K, R, D = images.vectors.shape
    words = sentences.vectors[sentences.mask]  # (N, D)
    similarities = (words @ images.vectors.reshape(K * R, D).T).view(-1, K, R)
    best = similarities.masked_fill(~images.mask, float("-inf")).amax(dim=2)  # (N, K)
    owners = sentences.mask.nonzero()[:, 0]  # (N,) the sentence of each word
    scores = torch.zeros(len(sentences), K, dtype=best.dtype, device=best.device)
    return scores.index_add(0, owners, best).T


SMOOTHING = 5  # n of eq. 6: without it, short sentences have an advantage


def mean_of_positive(images: PaddedBags, sentences: PaddedBags) -> Tensor:
    """S_kl = 1 / (|g_k| (|g_l| + n)) Σ_{i ∈ g_k} Σ_{j ∈ g_l} max(0, v_iᵀ s_j), n = 5.

    (Karpathy et al. 2014, eq. 6.) Shapes: images (K, R, D), sentences (L, T, D) give (K, L).
    """
    K, R, D = images.vectors.shape
    fragments = sentences.vectors[sentences.mask]  # (N, D)
    similarities = (fragments @ images.vectors.reshape(K * R, D).T).view(-1, K, R)
    positive = (similarities.clamp_min(0) * images.mask).sum(2)  # (N, K)
    owners = sentences.mask.nonzero()[:, 0]  # (N,) the sentence of each fragment
    totals = torch.zeros(len(sentences), K, dtype=positive.dtype, device=positive.device)
    totals = totals.index_add(0, owners, positive).T  # (K, L)
    return totals / images.mask.sum(1)[:, None] / (sentences.mask.sum(1) + SMOOTHING)[None, :]


SCORES: dict[str, Callable[[PaddedBags, PaddedBags], Tensor]] = {
    "sum_of_max": sum_of_max,
    "mean_of_positive": mean_of_positive,
}

LENGTHENED = 2  # numbers that the two functions below add to a vector


def lengthened_images(bags: PaddedBags) -> PaddedBags:
    """Vectors [2v; −‖v‖²; 1], whose product with [s; 1; −‖s‖²] is −‖v − s‖²."""
    v = bags.vectors.float()
    return PaddedBags(torch.cat([2 * v, -squares(v), torch.ones_like(v[..., :1])], -1), bags.mask)


def lengthened_sentences(bags: PaddedBags) -> PaddedBags:
    """Vectors [s; 1; −‖s‖²], the other side of `lengthened_images`."""
    s = bags.vectors.float()
    return PaddedBags(torch.cat([s, torch.ones_like(s[..., :1]), -squares(s)], -1), bags.mask)


def squares(vectors: Tensor) -> Tensor:
    """‖v‖² of vectors (…, D): (…, 1)."""
    return vectors.square().sum(-1, keepdim=True)
