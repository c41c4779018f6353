"""Fisher vectors of a sentence's words, under a hybrid Gaussian-Laplacian mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import PrincipalComponents

LEAST_SCALE = 1e-2  # of whitened dimensions, whose scale is 1: a point must not be a component
LEAST_WEIGHT = 1e-4  # an empty component stays finite
PART = 4096  # vectors that are compared with every component at once
ROUNDS = 25  # of expectation-maximisation
SAMPLE = 10_000  # sentences of train that the components of Fisher vectors are found from


class HybridMixture(nn.Module):
    """A mixture of components, Gaussian or Laplacian in each dimension.

    HGLMM of Klein et al. 2015 with K components: log p(x | k) = Σ_d log N(x_d; μ_kd, σ_kd) or
    log Laplace(x_d; m_kd, s_kd). `centre` is μ or m, `scale` σ or s, all (K, D).
    """

    weight: Tensor
    centre: Tensor
    scale: Tensor
    laplacian: Tensor

    def __init__(self, components: int, dimensions: int) -> None:
        super().__init__()
        shape = components, dimensions
        self.register_buffer("weight", torch.full((components,), 1 / components))
        self.register_buffer("centre", torch.zeros(shape))
        self.register_buffer("scale", torch.ones(shape))
        self.register_buffer("laplacian", torch.zeros(shape, dtype=torch.bool))

    def deviations(self, x: Tensor) -> Tensor:
        """(x − centre) / scale: (N, D) to (N, K, D)."""
        return (x[:, None] - self.centre) / self.scale

    def joint(self, z: Tensor) -> Tensor:
        """Logarithms of w_k p(x | k), (N, K), of deviations (N, K, D)."""
        gaussian = z.square() / 2 + math.log(2 * math.pi) / 2
        bits = torch.where(self.laplacian, z.abs() + math.log(2), gaussian)
        return self.weight.log() - self.scale.log().sum(1) - bits.sum(2)

    @torch.no_grad()
    def fit(self, x: Tensor, rounds: int) -> float:
        """Expectation-maximisation over x (N, D); the mean log-likelihood of its last round."""
        spread = torch.linspace(0, len(x) - 1, len(self.weight), device=x.device).long()
        self.centre.copy_(x[x[:, 0].argsort()[spread]])
        self.scale.copy_(x.std(0).clamp(min=LEAST_SCALE).expand_as(self.scale))
        order = x.argsort(0)
        for _ in range(rounds):
            joint = torch.cat([self.joint(self.deviations(part)) for part in torch.split(x, PART)])
            self.maximise(x, joint.softmax(1), order)
        return float(joint.logsumexp(1).mean())

    def maximise(self, x: Tensor, belief: Tensor, order: Tensor) -> None:
        """The likeliest parameters for x (N, D), given its belief (N, K) in components."""
        total = belief.sum(0).clamp(min=LEAST_WEIGHT)  # (K,)
        self.weight.copy_(total / total.sum())
        share = belief / total  # (N, K)
        for k, weights in enumerate(share.T):
            mean = weights @ x  # (D,)
            deviation = (weights @ (x - mean).square()).sqrt().clamp(min=LEAST_SCALE)
            median = median_by_weight(x, weights, order)
            distance = (weights @ (x - median).abs()).clamp(min=LEAST_SCALE)
            # Mean log-likelihoods: −log 2s − 1 against −log σ√(2π) − ½.
            gain = math.log(2 * math.pi) / 2 + deviation.log() - 0.5 - math.log(2) - distance.log()
            self.laplacian[k] = gain > 0
            self.centre[k] = torch.where(gain > 0, median, mean)
            self.scale[k] = torch.where(gain > 0, distance, deviation)

    def scores(self, x: Tensor) -> Tensor:
        """Each vector's (N, D) part of its sentence's Fisher vector: (N, 2 · K · D).

        ∂ log p / ∂ centre and ∂ scale, by the square root of their Fisher information: for a
        Gaussian γ z / √w and γ (z² − 1) / √(2w), for a Laplacian γ sign z / √w and
        γ (|z| − 1) / √w, γ being the component's posterior.
        """
        z = self.deviations(x)
        belief = (self.joint(z).softmax(1) / self.weight.sqrt())[..., None]  # (N, K, 1)
        first = torch.where(self.laplacian, z.sign(), z)
        second = torch.where(self.laplacian, z.abs() - 1, (z.square() - 1) / math.sqrt(2))
        return torch.cat([belief * first, belief * second], dim=2).flatten(1)


def median_by_weight(x: Tensor, share: Tensor, order: Tensor) -> Tensor:
    """The median (D,) of x (N, D) by shares (N,); order sorts x.

    Midway to the next point: on a point itself rounding would choose the sign of x − m.
    """
    middle = (share[order].cumsum(0) < 0.5).sum(0).clamp(max=len(x) - 2)  # (D,)
    around = order.gather(0, torch.stack([middle, middle + 1]))  # (2, D)
    return x.gather(0, around).mean(0)


class FisherVectors(nn.Module):
    """The Fisher vector of a sentence's words, improved and reduced (Klein et al. 2015).

    Words are whitened (`axes` numbers each), their scores under the mixture added up, signed
    square roots taken and scaled to length one (Perronnin et al. 2010), and the principal
    components kept (Wang, Li & Lazebnik 2016, section 3.1). Shapes: word vectors (L, T, W) and
    mask (L, T) give (L, features).
    """

    def __init__(self, words: int, axes: int, components: int, features: int) -> None:
        super().__init__()
        self.features = features
        self.whiten = PrincipalComponents(words, axes, whiten=True)
        self.mixture = HybridMixture(components, axes)
        self.reduce = PrincipalComponents(2 * components * axes, features, whiten=False)

    def fit(self, sentences: Sequence[Tensor]) -> None:
        """Learn the words of train's sentences (T, W), and their mixture.

        Every word counts once, however often it is said: "a" and "in" would fill the mixture.
        """
        device = self.mixture.weight.device
        words = distinct(sentences).to(device)
        self.whiten.fit(words)
        self.mixture.fit(self.whiten(words), ROUNDS)
        sample = sentences[:: 1 + (len(sentences) - 1) // SAMPLE]
        sizes = torch.tensor([len(sentence) for sentence in sample], device=device)
        self.reduce.fit(self.improve(torch.cat(list(sample)).to(device), sizes))

    def improve(self, words: Tensor, sizes: Tensor) -> Tensor:
        """The Fisher vectors (L, 2 · K · D) of words (N, W), `sizes` (L,) of them a sentence."""
        # A batch says the same few hundred words again and again.
        different, index = torch.unique(words, dim=0, return_inverse=True)
        scores = self.mixture.scores(self.whiten(different))
        total = F.embedding_bag(index, scores, sizes.cumsum(0) - sizes, mode="sum")
        return F.normalize(total.sign() * total.abs().sqrt(), dim=1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """One vector a sentence, in full precision."""
        with torch.autocast(x.device.type, enabled=False):
            reduced: Tensor = self.reduce(self.improve(x[mask].float(), mask.sum(1)))
        return reduced


def distinct(sentences: Sequence[Tensor]) -> Tensor:
    """The different words (V, W) of sentences (T, W), sorted in parts for speed."""
    parts = torch.split(torch.cat(list(sentences)), PART)
    words: Tensor = torch.unique(torch.cat([torch.unique(part, dim=0) for part in parts]), dim=0)
    return words
