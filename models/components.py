"""Principal components: the few directions that hold most of a set of vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class PrincipalComponents(nn.Module):
    """Coordinates along the directions of the largest variance, which is 1 on average.

    Whitened, each direction has variance 1 and one without variance stays 0; else all are scaled
    alike. Shapes: (…, C) give (…, D), D ≤ C.
    """

    mean: Tensor
    axes: Tensor

    def __init__(self, features: int, components: int, whiten: bool) -> None:
        super().__init__()
        self.whiten = whiten
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("axes", torch.eye(features, components))

    @torch.no_grad()
    def fit(self, x: Tensor) -> None:
        """Find the components of x (N, C)."""
        self.mean.copy_(x.mean(0))
        centred = x - self.mean
        variances, axes = torch.linalg.eigh(centred.T @ centred / len(x))  # ascending
        count = self.axes.shape[1]
        variances, axes = variances.flip(0)[:count], axes.flip(1)[:, :count]
        real = variances > 1e-6 * variances[0]
        wanted = variances if self.whiten else variances.mean()
        self.axes.copy_(axes * torch.where(real, wanted.clamp(min=1e-12).rsqrt(), 0.0))

    def forward(self, x: Tensor) -> Tensor:
        """Centre and project."""
        return (x - self.mean) @ self.axes
