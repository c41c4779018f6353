"""Adapters: small trained maps on top of frozen vectors, zero before training."""

from __future__ import annotations

from torch import Tensor, nn


class Adapter(nn.Module):
    """U V x of vectors x (…, D), by rank (Hu et al. 2022, section 4.1); U starts at zero."""

    def __init__(self, dimension: int, rank: int) -> None:
        super().__init__()
        rank = min(rank, dimension)
        self.down = nn.Linear(dimension, rank, bias=False)
        self.up = nn.Linear(rank, dimension, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The numbers to add to vectors (…, D)."""
        added: Tensor = self.up(self.down(x))
        return added
