"""Projection heads: an affine map or a two-layer network into the joint space."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class Branch(nn.Module):
    """One side of a two-branch network   (Wang, Li & Lazebnik 2016, figure 1 and section 3.1).

    Non-linear: W_2 dropout(max(0, W_1 x)), batch normalisation, unit length. Linear (no `hidden`):
    W_1 x and unit length alone. Inputs are dropped out too: the paper has five times our photos.
    Shapes: (B, C) give (B, D).
    """

    def __init__(
        self, features: int, hidden: int, embedding: int, dropout: float, input_dropout: float
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Dropout(input_dropout)]
        if hidden:
            layers += [nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(dropout)]
            # A shift before batch normalisation is taken away by it.
            layers += [nn.Linear(hidden, embedding, bias=False), nn.BatchNorm1d(embedding)]
        else:
            layers += [nn.Linear(features, embedding)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Unit vectors, in full precision."""
        return F.normalize(self.layers(x).float(), dim=-1)
