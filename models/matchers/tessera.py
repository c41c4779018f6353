"""The matcher that ships: words of a tuned MiniLM, regions in the context of their photo.

Sum of max after Karpathy & Fei-Fei 2015, eq. 8, with three departures that were measured (see
docs/decisions): words come from MiniLM instead of a BRNN, a region's vector is its photo's vector
plus what the region adds, and a sentence's words are scaled so that their sum has length one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models import proposals
from models.matcher import BagMatcher
from models.regions import RegionEncoder
from models.types import PaddedBags, ParsedSentence, Span
from models.words import MINILM_HIDDEN, LowerMiniLM, upper_minilm

EPSILON = 0.2
FRAME = -1.0  # the whole frame's prior: between the second box's and the third's


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; `frozen_layers` of MiniLM's six stay as they come, the others are tuned.

    `frequencies` are the shares of frequent words among all words of train: a word of share p
    starts with the weight rarity / (rarity + p), as in Arora et al. 2017, so that "a" and "in"
    do not claim what "dog" and "snow" earn. `proposals` names the boxes, see
    models.proposals; their order is their likelihood, and `prior` is how much that counts.
    `tuned` trains the CNN as well.
    """

    frequencies: tuple[tuple[str, float], ...] = ()
    rarity: float = 0.01
    proposals: str = "windows"
    prior: float = 0.0
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    tuned: bool = False
    embedding: int = 256
    frozen_layers: int = 3
    photo_dropout: float = 0.4
    region_dropout: float = 0.4
    word_dropout: float = 0.4
    layer_dropout: float = 0.1
    region_scale: float = 0.01
    temperature: float = 0.05

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields that train's sentences fill."""
        return ("frequencies",)


class Model(BagMatcher):
    """S_kl = Σ_t max_i v_iᵀ s_t with v_0 = f, v_i = f + l_i and |Σ_t s_t| = 1.

    f is the photo's vector and l_i what region i adds, so S_kl = fᵀ Σ_t s_t + Σ_t max_i l_iᵀ s_t
    (l_0 = 0): the match of the whole with the whole, which its words share out, plus what regions
    add to single words. A word links to the whole photo when no region says more.

    With a prior λ every vector has one more number: −log r / ε for the r-th best box, −1 / ε for
    the frame, and ε λ / T for each of T words. So a word prefers a likely box among boxes that
    look alike to it, and links still add up to the score. ε keeps the number small among words,
    which are compared with each other in text to text search.
    """

    packaged = ("sight.", "lower.")
    stored_in_half = ("upper.", "photo.project.", "regions.project.", "project.")

    def __init__(self, config: Config) -> None:
        proposer = proposals.load(config.proposals)
        super().__init__(config.backbone, tuple(config.sizes), proposer, config.tuned)
        self.config = config
        self.dimension = config.embedding + (config.prior > 0)
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
        self.shares = dict(config.frequencies)
        # Scores are logits: the inverse temperature is a magnitude of the photo's vector.
        self.log_scale = nn.Parameter(torch.tensor(-math.log(config.temperature)))

    def prepare(self, images: Sequence[Tensor], *_: object) -> None:
        """Measure train's photos and regions apart: means over more cells vary less."""
        self.photo.fit(image[:1] for image in images)
        self.regions.fit(image[1:, -self.finest :] for image in images)

    def train(self, mode: bool = True) -> Model:
        """Switch dropout; the frozen layers stay as they are."""
        super().train(mode)
        self.lower.eval()
        return self

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """MiniLM's states below the tuned layers and a last column of weights, (T + 2, H + 1)."""
        states = self.lower(sentences)
        return [
            torch.cat([own, self.weights(sentence).to(own)], dim=1)
            for own, sentence in zip(states, sentences, strict=True)
        ]

    def weights(self, sentence: ParsedSentence) -> Tensor:
        """The weight of each word, (T + 2, 1); the marks at the ends weigh nothing."""
        rarity = self.config.rarity
        shares = [self.shares.get(word.text.lower(), 0.0) for word in sentence.words]
        return torch.tensor([0.0, *(rarity / (rarity + share) for share in shares), 0.0])[:, None]

    def sentence_key(self) -> str:
        """The frozen layers, and what the weights are made of."""
        config = self.config
        return json.dumps(["minilm", config.frozen_layers, config.rarity, config.frequencies])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """v_0 = f, v_i = f + l_i: (K, R, D)."""
        x = inputs.vectors.to(self.project.weight.device)  # (K, R, C)
        f = F.normalize(self.photo(x[:, :1]).float(), dim=-1)  # (K, 1, D)
        added = self.config.region_scale * self.regions(x[:, 1:, -self.finest :]).float()
        vectors = self.log_scale.exp() * torch.cat([f, f + added], dim=1)
        if self.config.prior:
            order = torch.arange(vectors.shape[1], device=vectors.device)
            likely = -order.clamp_min(1).float().log()  # (R,)
            likely[0] = FRAME
            vectors = torch.cat([vectors, likely.expand(len(x), -1)[..., None] / EPSILON], dim=-1)
        return PaddedBags(vectors, inputs.mask.to(vectors.device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """s_t (L, T, D) of states and weights (L, T + 2, H + 1); the marks are no fragments."""
        device = self.project.weight.device
        given, mask = inputs.vectors.to(device), inputs.mask.to(device)
        tokens, weights = torch.split(given[mask], [MINILM_HIDDEN, 1], dim=1)  # (N, H), (N, 1)
        for layer in self.upper:
            tokens = layer(tokens, mask)
        placed = given.new_zeros(*mask.shape, self.config.embedding)
        placed[mask] = (weights * self.project(self.dropout(tokens))).to(placed.dtype)
        s = placed[:, 1:-1]  # (L, T, D), and zero where nothing is
        s = s / total_length(s)
        words = mask[:, 2:]  # as many real places as words
        if self.config.prior:
            shares = EPSILON * self.config.prior * words / words.sum(1, keepdim=True)  # (L, T)
            s = torch.cat([s, shares.to(s)[..., None]], dim=-1)
        return PaddedBags(s, words)

    def sentence_places(self, sentence: ParsedSentence) -> list[tuple[str, Span]]:
        """A fragment a word."""
        return [(word.text, word.span) for word in sentence.words]


def total_length(s: Tensor) -> Tensor:
    """|Σ_t s_t| of each sentence, (L, 1, 1)."""
    total = s.sum(1, keepdim=True)  # (L, 1, D)
    length: Tensor = torch.linalg.vector_norm(total, dim=-1, keepdim=True)
    return length.clamp(min=1e-6)
