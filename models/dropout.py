"""Dropout of numbers in all fragments of a photo or sentence at once."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class BagDropout(nn.Module):
    """Drops each number of a bag with probability p, in all of its fragments or in none.

    One draw for all places of a sequence, as Gal & Ghahramani (2016, "A theoretically grounded
    application of dropout in recurrent neural networks") have it; a draw for each of twenty regions
    takes as long as all products of a step. Shapes: (B, F, C) to the same.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, bags: Tensor) -> Tensor:
        """Drop, and scale what is left, while training."""
        if not self.training or not self.p:
            return bags
        return bags * F.dropout(bags.new_ones(len(bags), 1, bags.shape[2]), self.p)
