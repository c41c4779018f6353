"""Canonical correlations: the most correlated directions of two towers' features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PART = 2048  # vectors that are taken in at once
JITTER = 1e-3  # added to the norm of directions: a kernel of nearly equal landmarks is singular
KERNELS = ("linear", "rbf")


@dataclass(frozen=True, slots=True)
class Correlation:
    """Options for solving both sides' directions, instead of training them.

    ridge: the cost of long directions, as a share of a side's variance. power: each direction
    weighs as its correlation to this power (Gong et al. 2014 take 4).
    """

    ridge: float = 0.1
    power: float = 1.0


@runtime_checkable
class Correlated(Protocol):
    """A tower of vectors along a CorrelationView of features."""

    view: CorrelationView

    def features(self, inputs: Sequence[Tensor]) -> Tensor:
        """Input features of the view, from frozen inputs (F, C): (N, C')."""
        ...


class CorrelationView(nn.Module):
    """One side: features or a radial kernel's values, then linear directions.

    Shapes: (…, C) give (…, D) of unit length.
    """

    landmarks: Tensor
    width: Tensor
    centre: Tensor

    def __init__(self, features: int, embedding: int, kernel: str, landmarks: int) -> None:
        super().__init__()
        if kernel not in KERNELS:
            raise ValueError(f"no kernel {kernel!r}; there are: {', '.join(KERNELS)}")
        self.radial = kernel == "rbf"
        values = landmarks if self.radial else features
        self.register_buffer("landmarks", torch.zeros(values if self.radial else 0, features))
        self.register_buffer("width", torch.ones(()))
        self.register_buffer("centre", torch.zeros(values))
        self.project = nn.Parameter(torch.eye(values, embedding))

    def fit(self, x: Tensor) -> Tensor:
        """The kernel's centred values (N, M) of x (N, C); landmarks come from x.

        The width of the kernel is the mean squared distance to a landmark.
        """
        if self.radial:
            chosen = torch.linspace(0, len(x) - 1, len(self.landmarks)).round().long()
            self.landmarks.copy_(x[chosen])
            self.width.copy_(torch.cdist(x[:PART], self.landmarks).square().mean())
        values = torch.cat([self.values(part) for part in torch.split(x, PART)])
        self.centre.copy_(values.mean(0))
        return (values - self.centre).double()

    def norm(self) -> Tensor:
        """The norm of directions, (M, M): the identity, or K(landmarks)."""
        if self.radial:
            return self.values(self.landmarks)
        return torch.eye(len(self.centre)).to(self.centre)

    def values(self, x: Tensor) -> Tensor:
        """exp(−‖x − landmark‖² / width), (…, M); a linear kernel's are x itself."""
        if not self.radial:
            return x
        return torch.exp(-torch.cdist(x, self.landmarks).square() / self.width)

    def forward(self, x: Tensor) -> Tensor:
        """Project."""
        return F.normalize((self.values(x) - self.centre) @ self.project, dim=-1)


@torch.no_grad()
def correlate(
    image: Correlated,
    text: Correlated,
    images: Sequence[Tensor],
    sentences: Sequence[Tensor],
    owners: Sequence[int],
    options: Correlation,
) -> None:
    """Solve for both towers' directions on train's pairs, sentences[l] of images[owners[l]].

    ValueError for photos or sentences that are all equal.
    """
    x, y = image.features(images), text.features(sentences)
    for features, name in ((x, "photos"), (y, "sentences")):
        if bool((features == features[0]).all()):
            raise ValueError(f"all {name} have the same vector: correlations need different ones")
    x = image.view.fit(x)  # (K, M)
    y = text.view.fit(y)  # (L, N)
    # In double precision: nearly equal landmarks leave covariances nearly singular.
    weights = torch.tensor(owners, device=x.device).bincount(minlength=len(x))[:, None]
    sums = torch.zeros(len(x), y.shape[1], dtype=y.dtype, device=x.device)
    sums.index_add_(0, torch.tensor(owners, device=x.device), y)
    L, ridge = len(y), options.ridge
    xx = regularise(x.T @ (x * weights) / L, image.view.norm(), ridge)
    yy = regularise(y.T @ y / L, text.view.norm(), ridge)
    count = image.view.project.shape[1]
    a, b, correlations = directions(xx, yy, x.T @ sums / L, count)
    scale = correlations**options.power
    image.view.project.copy_(a * scale)
    text.view.project.copy_(b * scale)


def directions(xx: Tensor, yy: Tensor, xy: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` most correlated directions of two sides, from their covariances.

    max aᵀ C_xy b with aᵀ C_xx a = bᵀ C_yy b = 1 (Hotelling 1936): with C = L Lᵀ of each side, the
    singular vectors of L_x⁻¹ C_xy L_y⁻ᵀ. Shapes: (M, M), (N, N), (M, N) give a (M, D), b (N, D)
    and correlations (D,), the largest first. ValueError for a singular covariance.
    """
    (x, wrong_x), (y, wrong_y) = (torch.linalg.cholesky_ex(c.double()) for c in (xx, yy))
    if wrong_x or wrong_y:
        raise ValueError(
            "the vectors of train hardly vary, and their covariance is singular: give more "
            "different data, or a larger ridge"
        )
    whitened = torch.linalg.solve_triangular(x, xy.double(), upper=False)
    whitened = torch.linalg.solve_triangular(y, whitened.T, upper=False).T
    u, s, vt = torch.linalg.svd(whitened, full_matrices=False)
    a = torch.linalg.solve_triangular(x.T, u[:, :count], upper=True)
    b = torch.linalg.solve_triangular(y.T, vt[:count].T, upper=True)
    return a.float(), b.float(), s[:count].float()


def regularise(covariance: Tensor, norm: Tensor, ridge: float) -> Tensor:
    """A covariance plus a share `ridge` of its trace in the directions' norm."""
    share = ridge * covariance.trace() / norm.trace()
    return covariance + share * (norm + JITTER * torch.eye(len(norm)).to(norm))
