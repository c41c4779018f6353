"""Squared distances as products, of vectors with two more numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from models.types import PaddedBags

if TYPE_CHECKING:
    from torch import Tensor

LENGTHENED = 2  # numbers that the two functions below add to a vector


def lengthen_images(bags: PaddedBags) -> PaddedBags:
    """Vectors [2v; −‖v‖²; 1]; times [s; 1; −‖s‖²] they give −‖v − s‖²."""
    import torch

    v = bags.vectors.float()
    return PaddedBags(torch.cat([2 * v, -squares(v), torch.ones_like(v[..., :1])], -1), bags.mask)


def lengthen_sentences(bags: PaddedBags) -> PaddedBags:
    """Vectors [s; 1; −‖s‖²], the other side of `lengthen_images`."""
    import torch

    s = bags.vectors.float()
    return PaddedBags(torch.cat([s, torch.ones_like(s[..., :1]), -squares(s)], -1), bags.mask)


def squares(vectors: Tensor) -> Tensor:
    """‖v‖² of vectors (…, D): (…, 1)."""
    return vectors.square().sum(-1, keepdim=True)
