"""ConSE: names of classes as further numbers of fragments.

They are used in texts of few words.

A convex combination of semantic embeddings (Norouzi et al. 2014) describes a photo by its
classifiers' names. Whole sentences are answered better by trained vectors, one or two words outside
train's sentences by names, see docs/decisions/models/0004-two-cnns-minilm-and-class-names.md.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.text import classes
from models.text.words import MINILM_HIDDEN, MINILM_LAYERS, Layers, PackedLayer
from models.vision import backbones

GAIN, POWER = 14.0, 3.0  # γ and π: how much names count in a text of one word, and of more
SCALE = 8.0  # ε: photos have ε e and texts q / ε, so that both are of the size of their vectors


class NamedPhotos(nn.Module):
    """ε e_k, a unit vector along names by their probabilities.

    e_k lies along Bᵀ Σ_c p_kc names_c for E directions B (384, E).

    Shapes: probabilities p (K, 1000) give (K, E).
    """

    classes: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.register_buffer("classes", torch.zeros(backbones.CLASSES, count))

    def begin(self) -> None:
        """Take the names of ImageNet's classes along their main directions."""
        count = self.classes.shape[1]
        self.classes.copy_(classes.vectors() @ classes.directions(count))

    def forward(self, probabilities: Tensor) -> Tensor:
        """Photos by their classes' names, (K, E) of length ε."""
        return SCALE * F.normalize(probabilities.float() @ self.classes, dim=-1)


class NamedTexts(nn.Module):
    """γ n^−π q_l / ε, shared out over words, with q_l the unit vector along Bᵀ (t_l − m).

    t_l is the unit vector along the mean of MiniLM's last states of a text's words, as names of
    classes have one, m the mean of all names, and n the words' weights together, at least 1: about
    the number of content words. A word's share is its own state's part of the sum.

    Shapes: tokens (N, 384) above the `upper` layers, the true positions of mask (L, T + 2) in
    order, with weights (L, T + 2), give (L, T, E); the marks at the ends get none.
    """

    mean: Tensor
    directions: Tensor
    packaged = ("upper.",)

    def __init__(self, count: int, frozen_layers: int) -> None:
        super().__init__()
        above = range(frozen_layers, MINILM_LAYERS)
        self.upper = Layers(map(PackedLayer.load, above)).requires_grad_(False)
        self.register_buffer("mean", torch.zeros(MINILM_HIDDEN))
        self.register_buffer("directions", torch.zeros(MINILM_HIDDEN, count))

    def begin(self) -> None:
        """Take the mean of all names, and the main directions of classes."""
        self.mean.copy_(classes.mean_name())
        self.directions.copy_(classes.directions(self.directions.shape[1]))

    @torch.no_grad()
    def forward(self, tokens: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
        """Each word's share (L, T, E) of a text's request by name."""
        last = weights.new_zeros(*mask.shape, MINILM_HIDDEN)
        last[mask] = tokens.to(last)
        words = mask[:, 2:, None]  # as many real places as words
        last = last[:, 1:-1] * words
        count = words.sum(1, keepdim=True)  # (L, 1, 1)
        length = torch.linalg.vector_norm(last.sum(1, keepdim=True) / count, dim=-1, keepdim=True)
        shares = (last / length - self.mean) * words / count @ self.directions  # (L, T, E)
        total = torch.linalg.vector_norm(shares.sum(1, keepdim=True), dim=-1, keepdim=True)
        content = weights.sum(1).clamp(min=1)[:, None, None]
        scaled: Tensor = GAIN / SCALE * content**-POWER * shares / total.clamp(min=1e-6)
        return scaled
