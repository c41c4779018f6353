"""Objectives of matchers: each module is one, found by its name.

An objective is a function with the name of its module. It takes a Match and options, by keyword
with defaults, and gives a scalar. `training.matchers.loss` adds them up.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """Scores (P, N) of photos with texts of labels, and truth."""

    scores: Tensor
    true: Tensor


@dataclass(frozen=True, slots=True)
class Match:
    """K images and L sentences, the images (L,) of sentences, and scores (K, L).

    owners (L,) is the image of each sentence. taught (K, L) are other matchers' scores, if a
    training has teachers. weights (K, L) say how much each pair counts, 0 for a false one; without
    them an image's own sentences count 1. products (N, K, R) are v_iᵀ s_t of the N real fragments
    of the sentences. labels are other photos with complete labels, if a training has such.
    """

    images: PaddedBags
    sentences: PaddedBags
    owners: Tensor
    scores: Tensor
    taught: Tensor | None = None
    weights: Tensor | None = None
    products: Tensor | None = None
    labels: LabelMatch | None = None

    @property
    def true(self) -> Tensor:
        """The pairs (K, L) of images with their own or equal sentences."""
        if self.weights is not None:
            return self.weights > 0
        images = torch.arange(len(self.scores), device=self.scores.device)
        return images[:, None] == self.owners[None, :]
