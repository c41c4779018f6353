"""The matcher that ships: words of a tuned MiniLM, regions in the context of their photo.

Sum of max after Karpathy & Fei-Fei 2015, eq. 8, with three departures that were measured (see
docs/decisions): words come from MiniLM instead of a BRNN, a region's vector is its photo's vector
plus what the region adds, and a sentence's words are scaled so that their sum has length one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.matcher import BagMatcher
from models.parsing import parse
from models.regions import RegionEncoder
from models.types import PaddedBags, ParsedSentence, Span
from models.words import MINILM_HIDDEN, LowerMiniLM, upper_minilm


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; `frozen_layers` of MiniLM's six stay as they come, the others are tuned."""

    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    embedding: int = 256
    frozen_layers: int = 3
    photo_dropout: float = 0.4
    region_dropout: float = 0.4
    word_dropout: float = 0.4
    layer_dropout: float = 0.1
    region_scale: float = 0.01
    temperature: float = 0.05


class Model(BagMatcher):
    """S_kl = Σ_t max_i v_iᵀ s_t with v_0 = f, v_i = f + l_i and |Σ_t s_t| = 1.

    f is the photo's vector and l_i what region i adds, so S_kl = fᵀ Σ_t s_t + Σ_t max_i l_iᵀ s_t
    (l_0 = 0): the match of the whole with the whole, which its words share out, plus what regions
    add to single words. A word links to the whole photo when no region says more.
    """

    packaged = ("sight.", "lower.")
    stored_in_half = ("upper.", "photo.", "regions.", "project.")

    def __init__(self, config: Config) -> None:
        super().__init__(config.backbone, tuple(config.sizes))
        self.config = config
        self.dimension = config.embedding
        C = self.sight.channels
        self.finest = C // len(config.sizes)  # regions are seen at the largest size alone
        self.photo = RegionEncoder(C, config.embedding, config.photo_dropout)
        self.regions = RegionEncoder(self.finest, config.embedding, config.region_dropout)
        # Regions start by adding nothing, so training starts from one vector a photo.
        nn.init.zeros_(self.regions.project.weight)
        nn.init.zeros_(self.regions.project.bias)
        self.lower = LowerMiniLM(config.frozen_layers)
        self.upper = upper_minilm(config.frozen_layers, config.layer_dropout)
        self.dropout = nn.Dropout(config.word_dropout)
        self.project = nn.Linear(MINILM_HIDDEN, config.embedding, bias=False)
        # Scores are logits: the inverse temperature is a magnitude of the photo's vector.
        self.log_scale = nn.Parameter(torch.tensor(-math.log(config.temperature)))

    def train(self, mode: bool = True) -> Model:
        """Switch dropout; the frozen layers stay as they are."""
        super().train(mode)
        self.lower.eval()
        return self

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """MiniLM's states (T + 2, H) of words, below the tuned layers."""
        return self.lower([parse(text) for text in texts])

    def sentence_key(self) -> str:
        """How many layers are frozen."""
        return f"minilm {self.config.frozen_layers}"

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """v_0 = f, v_i = f + l_i: (K, R, D)."""
        x = self.standardize(inputs.vectors.to(self.project.weight.device))  # (K, R, C)
        f = F.normalize(self.photo(x[:, :1]).float(), dim=-1)  # (K, 1, D)
        added = self.config.region_scale * self.regions(x[:, 1:, -self.finest :]).float()  # (K, R - 1, D)
        vectors = self.log_scale.exp() * torch.cat([f, f + added], dim=1)
        return PaddedBags(vectors, inputs.mask.to(vectors.device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """s_t (L, T, D) of states (L, T + 2, H); the marks at the ends are no fragments."""
        device = self.project.weight.device
        states, mask = inputs.vectors.to(device), inputs.mask.to(device)
        tokens = states[mask]  # (N, H)
        for layer in self.upper:
            tokens = layer(tokens, mask)
        placed = states.new_zeros(*mask.shape, self.dimension)
        placed[mask] = self.project(self.dropout(tokens)).to(placed.dtype)
        words = mask[:, 2:]  # as many real places as words
        s = placed[:, 1:-1] * words[..., None]  # (L, T, D)
        return PaddedBags(s / s.sum(1, keepdim=True).norm(dim=-1, keepdim=True), words)

    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """A fragment a word."""
        return [(word.text, word.span) for word in sentence.words]
