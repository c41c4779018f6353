"""How well images answer sentences: bags in, (K, L) scores out."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, einsum

from models.types import PaddedBags


def similarities(images: PaddedBags, sentences: PaddedBags) -> Tensor:
    """v_i · s_t for every region and word, (K, L, R, T); nothing is masked."""
    return einsum("krd,ltd->klrt", images.vectors, sentences.vectors)


def sum_of_max(images: PaddedBags, sentences: PaddedBags) -> Tensor:
    """S_kl = Σ_{t ∈ g_l} max_{i ∈ g_k} v_iᵀ s_t    (Karpathy & Fei-Fei 2015, eq. 8).

    Shapes: images (K, R, D), sentences (L, T, D) give (K, L). A bag without fragments is an
    error of ours: every image has its whole frame, every sentence a word.
    """
    links = similarities(images, sentences)  # (K, L, R, T)
    links = links.masked_fill(~images.mask[:, None, :, None], float("-inf"))
    best = links.amax(dim=2)  # (K, L, T)
    return best.masked_fill(~sentences.mask[None], 0.0).sum(dim=2)


SCORES: dict[str, Callable[[PaddedBags, PaddedBags], Tensor]] = {"sum_of_max": sum_of_max}
