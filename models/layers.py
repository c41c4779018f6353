"""Layers of several rooms: principal components, branches of two-branch networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PrincipalComponents(nn.Module):
    """Coordinates along the directions of the largest variance, scaled to 1 on average.

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
        """Find the components of x (N, C), from the smaller Gram matrix."""
        self.mean.copy_(x.mean(0))
        centred = x - self.mean
        few = len(x) < x.shape[1]
        product = centred @ centred.T if few else centred.T @ centred
        variances, axes = torch.linalg.eigh(product / len(x))  # ascending
        axes = F.normalize(centred.T @ axes, dim=0) if few else axes
        count = self.axes.shape[1]
        variances, axes = variances.flip(0)[:count], axes.flip(1)[:, :count]
        missing = count - len(variances)  # of fewer vectors than components
        variances, axes = F.pad(variances, (0, missing)), F.pad(axes, (0, missing))
        real = variances > 1e-6 * variances[0]
        divisor = variances if self.whiten else variances.mean()
        self.axes.copy_(axes * torch.where(real, divisor.clamp(min=1e-12).rsqrt(), 0.0))

    def forward(self, x: Tensor) -> Tensor:
        """Centre and project."""
        return (x - self.mean) @ self.axes

    def share(self, x: Tensor) -> Tensor:
        """The share of x's squared length along the components, 0 to 1: (…).

        The rest is the residual of Wang et al. (2022, "ViM", section 4): it is large for inputs
        unlike the training data.
        """
        centred = x - self.mean
        along = centred @ F.normalize(self.axes, dim=0)
        return along.square().sum(-1) / centred.square().sum(-1).clamp_min(1e-12)


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
