"""Occlusion: a photo's vector without the pixels of each box.

It works for every encoder, and costs a pass a box. (Zeiler & Fergus 2014 cover squares of a photo
to see the change of a class's score.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

RIDGE = 0.1  # of the mean of the boxes' own covariances; on scenes 0.02 to 0.3 point alike


def occlude(
    see: Callable[[Any], Tensor],
    veil: Callable[[Any, Tensor], Any],
    pixels: Any,
    weights: Tensor,
) -> tuple[Tensor, Tensor]:
    """Unit vectors of photos (K, D), and additions of boxes to them (K, R, D).

    Shapes: `see` makes vectors (K, D) of pixels, `veil` veils shares (K, P) of their patches;
    weights (K, R, P). Boxes are veiled one after the other, so that memory is that of one;
    one that has no patch of any photo costs no pass.
    """
    photos = F.normalize(see(pixels).float(), dim=-1)
    falls = [
        photos - F.normalize(see(veil(pixels, shares)).float(), dim=-1)
        if shares.any()
        else torch.zeros_like(photos)
        for shares in weights.unbind(1)
    ]
    return photos, spread(torch.stack(falls, 1), weights.float())


def veil_pixels(pixels: Tensor, veil: Tensor, grid: tuple[int, int]) -> Tensor:
    """Pixels (K, 3, S, S) faded into the photo's mean colour by shares of patches (K, P).

    >>> veil_pixels(torch.tensor([[[[0.0, 4.0]]]]), torch.tensor([[0.5, 0.0]]), (1, 2))
    tensor([[[[1., 4.]]]])
    """
    rows, columns = grid
    S, W = pixels.shape[2:]
    shares = veil.to(pixels).view(-1, 1, rows, columns)
    shares = shares.repeat_interleave(S // rows, 2).repeat_interleave(W // columns, 3)
    shares = F.pad(shares, (0, W - shares.shape[3], 0, S - shares.shape[2]))  # beyond all patches
    return torch.lerp(pixels, pixels.mean((2, 3), keepdim=True), shares)


def spread(falls: Tensor, weights: Tensor) -> Tensor:
    """Additions of boxes (K, R, D), from the losses with each box veiled (K, R, D).

    A large box loses more than a small one around the same thing, and boxes overlap. So each patch
    has a share e_p of the losses, the smallest e with Σ_p w_ip e_p ≈ fall_i (ridge regression).
    A box has the mean of its patches', times the mean size of the photo's boxes; weights are
    (K, R, P). A box without patches adds nothing and counts in no mean.
    """
    inside = weights.any(-1)  # (K, R)
    covariance = weights @ weights.mT  # (K, R, R)
    variances = covariance.diagonal(dim1=1, dim2=2).sum(1) / inside.sum(1).clamp_min(1)  # (K,)
    ridge = torch.where(inside, RIDGE * variances[:, None], 1.0)  # 1: a row of zeros can be solved
    patches = weights.mT @ torch.linalg.solve(covariance + ridge.diag_embed(), falls)  # (K, P, D)
    sizes = torch.where(inside, weights.sum(-1), 1.0)[..., None]  # (K, R, 1)
    added: Tensor = (weights / sizes) @ patches * mean_size(weights)
    return added


def mean_size(weights: Tensor) -> Tensor:
    """Mean size (K, 1, 1) of a photo's boxes with patches; weights are (K, R, P).

    >>> mean_size(torch.tensor([[[1.0, 0.5], [0.5, 0.0], [0.0, 0.0]]]))
    tensor([[[1.]]])
    """
    count = weights.any(-1).sum(1).clamp_min(1)  # (K,)
    return (weights.sum((1, 2)) / count)[:, None, None]
