"""Canonical correlations of photos and sentences, linear and kernelized (Socher et al. 2014)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.matcher import VectorMatcher
from models.regions import Standardize
from models.sentences import MeanVector
from models.types import PaddedBags, ParsedSentence
from models.words import MINILM_HIDDEN, WordVectors

PART = 2048  # vectors that are taken in at once
JITTER = 1e-3  # added to the norm of directions: a kernel of nearly equal landmarks is singular


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes. kernel "linear" is CCA, "rbf" kernel CCA by `landmarks` training vectors a side.

    ridge: what long directions cost, as a share of a side's variance. power: each
    direction weighs as its correlation to this power (Gong et al. 2014 take 4).
    """

    kernel: str = "linear"
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    embedding: int = 200
    landmarks: int = 1500
    ridge: float = 0.1
    power: float = 1.0


class Model(VectorMatcher):
    """S_kl = v_kᵀ y_l of unit vectors along the directions in which both sides correlate most.

    Sentences are the means of their word vectors, as in section 6 of the paper.
    """

    packaged = ("sight.", "vectors.")

    def __init__(self, config: Config) -> None:
        super().__init__(config.backbone, tuple(config.sizes))
        self.config = config
        self.dimension = config.embedding
        self.vectors = WordVectors()
        self.standardize = Standardize(self.sight.channels)
        self.mean = MeanVector(MINILM_HIDDEN)
        self.x = View(self.sight.channels, config)
        self.y = View(MINILM_HIDDEN, config)

    @torch.no_grad()
    def prepare(
        self, images: Sequence[Tensor], sentences: Sequence[Tensor], owners: Sequence[int]
    ) -> None:
        """Solve for both sides' directions on all pairs of train."""
        self.standardize.fit(images)
        self.mean.fit(sentences)
        x = torch.cat([self.standardize(one.to(self.mean.mean)) for one in images])  # (K, C)
        means = torch.stack([one.mean(0) for one in sentences]).to(x)
        y = (means - self.mean.mean) / self.mean.deviation  # (L, W)
        x, y = self.x.fit(x), self.y.fit(y)
        # In double precision: nearly equal landmarks leave covariances nearly singular.
        weights = torch.tensor(owners, device=x.device).bincount(minlength=len(x))[:, None]
        sums = torch.zeros(len(x), y.shape[1], dtype=y.dtype, device=x.device)
        sums.index_add_(0, torch.tensor(owners, device=x.device), y)
        L, ridge = len(y), self.config.ridge
        xx = regularised(x.T @ (x * weights) / L, self.x.norm(), ridge)
        yy = regularised(y.T @ y / L, self.y.norm(), ridge)
        a, b, correlations = directions(xx, yy, x.T @ sums / L, self.dimension)
        scale = correlations**self.config.power
        self.x.project.copy_(a * scale)
        self.y.project.copy_(b * scale)

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors (T, W)."""
        vectors: list[Tensor] = self.vectors(sentences)
        return vectors

    def sentence_key(self) -> str:
        """Word vectors are the same for every matcher."""
        return json.dumps(["word vectors"])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """Photos' vectors (K, 1, D) of inputs (K, 1, C)."""
        device = self.mean.mean.device
        v = self.x(self.standardize(inputs.vectors.to(device)))
        return PaddedBags(v, inputs.mask.to(device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """Sentences' vectors (L, 1, D) of inputs (L, T, W)."""
        device = self.mean.mean.device
        mask = inputs.mask.to(device)
        y = self.y(self.mean(inputs.vectors.to(device), mask))
        return PaddedBags(y[:, None], mask[:, :1])


class View(nn.Module):
    """One side: features, or a radial kernel's values at landmarks, then linear directions.

    Shapes: (…, C) give (…, D) of unit length.
    """

    landmarks: Tensor
    width: Tensor
    centre: Tensor

    def __init__(self, features: int, config: Config) -> None:
        super().__init__()
        if config.kernel not in ("linear", "rbf"):
            raise ValueError(f"no kernel {config.kernel!r}; there are: linear, rbf")
        self.radial = config.kernel == "rbf"
        seen = config.landmarks if self.radial else features
        self.register_buffer("landmarks", torch.zeros(seen if self.radial else 0, features))
        self.register_buffer("width", torch.ones(()))
        self.register_buffer("centre", torch.zeros(seen))
        self.project = nn.Parameter(torch.eye(seen, config.embedding))

    def fit(self, x: Tensor) -> Tensor:
        """What is seen of x (N, C), centred: (N, M). A kernel's landmarks are chosen among x.

        The width of the kernel is the mean squared distance to a landmark.
        """
        if self.radial:
            chosen = torch.linspace(0, len(x) - 1, len(self.landmarks)).round().long()
            self.landmarks.copy_(x[chosen])
            self.width.copy_(torch.cdist(x[:PART], self.landmarks).square().mean())
        parts = torch.split(x, PART)
        seen = torch.cat([self.seen(part) for part in parts])
        self.centre.copy_(seen.mean(0))
        return (seen - self.centre).double()

    def norm(self) -> Tensor:
        """What measures the length of a direction, (M, M): the identity, or K(landmarks)."""
        return (
            self.seen(self.landmarks)
            if self.radial
            else torch.eye(len(self.centre)).to(self.centre)
        )

    def seen(self, x: Tensor) -> Tensor:
        """exp(−‖x − landmark‖² / width), (…, M); a linear kernel sees x itself."""
        if not self.radial:
            return x
        return torch.exp(-torch.cdist(x, self.landmarks).square() / self.width)

    def forward(self, x: Tensor) -> Tensor:
        """Project."""
        return F.normalize((self.seen(x) - self.centre) @ self.project, dim=-1)


def directions(xx: Tensor, yy: Tensor, xy: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` most correlated directions of two sides, from their covariances.

    max aᵀ C_xy b with aᵀ C_xx a = bᵀ C_yy b = 1 (Hotelling 1936): with C = L Lᵀ of each side, the
    singular vectors of L_x⁻¹ C_xy L_y⁻ᵀ. Shapes: (M, M), (N, N), (M, N) give a (M, D), b (N, D)
    and correlations (D,), the largest first.
    """
    x, y = torch.linalg.cholesky(xx.double()), torch.linalg.cholesky(yy.double())
    whitened = torch.linalg.solve_triangular(x, xy.double(), upper=False)
    whitened = torch.linalg.solve_triangular(y, whitened.T, upper=False).T
    u, s, vt = torch.linalg.svd(whitened, full_matrices=False)
    a = torch.linalg.solve_triangular(x.T, u[:, :count], upper=True)
    b = torch.linalg.solve_triangular(y.T, vt[:count].T, upper=True)
    return a.float(), b.float(), s[:count].float()


def regularised(covariance: Tensor, norm: Tensor, ridge: float) -> Tensor:
    """A covariance plus `ridge` of its size in the norm of directions: never singular."""
    share = ridge * covariance.trace() / norm.trace()
    return covariance + share * (norm + JITTER * torch.eye(len(norm)).to(norm))
