"""Kinds of things, such as persons, in a photo.

ImageNet's classes tell which of them it lacks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.layers import PrincipalComponents

UNSEEN = 20.0  # photos of a class that its name counts for
COMPONENTS = 64  # principal components of train's photos


@dataclass(frozen=True, slots=True)
class ThingKind:
    """A kind, by the terms of WordNet above its nouns.

    `temperature` divides the classifier's logits: persons are no classes of ImageNet, so less
    likely classes of a photo count as well. `missed` is the share of train's photos with the kind
    below the threshold.
    """

    terms: tuple[str, ...]
    temperature: float
    missed: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(self.terms))


class ThingKinds(nn.Module):
    """The absent ones of G kinds in a photo, and their words.

    A photo's sign of a kind is s_k + λ_k r, with s_k = Σ_c p_k(c) π_kc. p_k is the softmax over
    classes c at the kind's temperature, and

        π_kc = (Σ_i p_ik(c) y_ik + α b_kc) / (Σ_i p_ik(c) + α),    α = UNSEEN,

    the share of train's photos i of a class with the kind: y_ik is the share of a photo's
    sentences with a word of the kind, and b_kc is 1 for classes of the kind by their names. A
    class without photos in train counts by its name. r is the photo's familiarity: the share of
    its features' length along the principal components of train. λ_k = σ(s_k) / σ(r) gives both
    terms the same deviation. A kind is absent if the sign is below all but the share `missed` of
    train's photos with it. Every second photo gives the components; the others give λ and the
    thresholds, as nothing else was fitted to them.
    """

    shares: Tensor
    slopes: Tensor
    least: Tensor
    words: Tensor

    def __init__(
        self, kinds: tuple[ThingKind, ...], classes: int, features: int, words: int
    ) -> None:
        super().__init__()
        G, stored = len(kinds), bool(kinds)
        self.kinds = kinds
        count = min(COMPONENTS, features)
        self.components = PrincipalComponents(features, count, whiten=False) if kinds else None
        self.register_buffer("shares", torch.zeros(G, classes), persistent=stored)
        self.register_buffer("slopes", torch.zeros(G), persistent=stored)
        self.register_buffer("least", torch.zeros(G), persistent=stored)
        self.register_buffer("words", torch.zeros(G, words), persistent=stored)

    def posteriors(self, logits: Tensor) -> Tensor:
        """P (G, K, C) of a classifier's logits (K, C), at each kind's temperature."""
        temperatures = logits.new_tensor([kind.temperature for kind in self.kinds])
        return (logits / temperatures[:, None, None]).softmax(-1)

    def by_class(self, logits: Tensor) -> Tensor:
        """S (K, G) of logits (K, C)."""
        return torch.einsum("gkc,gc->kg", self.posteriors(logits), self.shares)

    def familiarity(self, features: Tensor) -> Tensor:
        """R (K,) of the features (K, F) of whole photos."""
        assert self.components is not None
        return self.components.share(features)

    def signs(self, logits: Tensor, features: Tensor) -> Tensor:
        """The signs (K, G) of photos by logits (K, C) and features (K, F)."""
        return self.by_class(logits) + self.slopes * self.familiarity(features)[:, None]

    def absent(self, logits: Tensor, features: Tensor) -> Tensor:
        """The absent kinds (K, G) of photos, 1 or 0; shapes as in `signs`."""
        return (self.signs(logits, features) < self.least).to(logits.dtype)

    def names(self, absent: Tensor) -> Tensor:
        """The words (K, W) for one of the absent kinds (K, G)."""
        return absent @ self.words > 0

    @torch.no_grad()
    def fit(
        self, logits: Tensor, features: Tensor, named: Tensor, classes: Tensor, words: Tensor
    ) -> None:
        """Measure shares, components and thresholds on train.

        Shapes: logits (N, C) and features (N, F), the shares `named` (N, G) of each photo's
        sentences that name each kind, and which classes (G, C) and words (G, W) are of it.
        ValueError for a kind that no photo shows.
        """
        assert self.components is not None
        p = self.posteriors(logits)  # (G, N, C)
        expected = torch.einsum("gnc,ng->gc", p, named)
        self.shares.copy_((expected + UNSEEN * classes) / (p.sum(1) + UNSEEN))
        self.words.copy_(words)
        self.components.fit(features[::2])
        logits, features, named = logits[1::2], features[1::2], named[1::2]
        spread = self.by_class(logits).std(0, correction=0)
        self.slopes.copy_(spread / self.familiarity(features).std(correction=0).clamp_min(1e-6))
        signs = self.signs(logits, features)
        for at, kind in enumerate(self.kinds):
            with_kind = signs[named[:, at] > 1 / 2, at]
            if not len(with_kind):
                raise ValueError(
                    f"no photo's sentences name the kind {kind.terms[0]!r}: use other photos"
                )
            self.least[at] = torch.quantile(with_kind, kind.missed)
