"""Text tower of the shipped matcher: words of a tuned MiniLM."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.text import classes
from models.text.parsing import SentenceReader
from models.text.words import MINILM_HIDDEN, LowerMiniLM, pass_each, upper_minilm
from models.towers import LIKELIHOOD_SCALE, TextTower
from models.types import PaddedBags, ParsedSentence
from models.vision.conse import NamedTexts


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; `frozen_layers` of MiniLM's six are frozen, the others tuned.

    `frequencies` are the shares of frequent words among all words of train. A word of share p
    starts with the weight rarity / (rarity + p), as in Arora et al. 2017, so that "a" and "in"
    get little. `prior` is the weight of boxes' likelihood, for an image tower with `likelihood`.
    `conse` is the count of an image tower's numbers for names of classes, see models.vision.conse.
    With `names` the map into the joint space starts along the main directions of ImageNet's class
    names, for an image tower with the same start.
    """

    frequencies: tuple[tuple[str, float], ...] = ()
    rarity: float = 0.01
    prior: float = 0.0
    conse: int = 0
    names: bool = False
    embedding: int = 256
    frozen_layers: int = 3
    word_dropout: float = 0.4
    layer_dropout: float = 0.1

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields filled from train's sentences."""
        return ("frequencies",)

    @property
    def reshaped(self) -> tuple[str, ...]:
        """The fields free to change in an average of trained matchers."""
        return ("conse", "embedding")


class WeightedWords(SentenceReader):
    """MiniLM's states below the tuned layers, and the weight of each word."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.lower = LowerMiniLM(config.frozen_layers)
        self.config, self.shares = config, dict(config.frequencies)

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """States and a last column of weights, (T + 2, H + 1), between two marks."""
        weighted: list[Tensor] = []
        rarity = self.config.rarity
        for states, sentence in zip(self.lower(sentences), sentences, strict=True):
            shares = [self.shares.get(word.text.lower(), 0.0) for word in sentence.words]
            weights = [0.0, *(rarity / (rarity + share) for share in shares), 0.0]  # 0 for marks
            weighted.append(torch.cat([states, torch.tensor(weights)[:, None].to(states)], dim=1))
        return weighted

    def key(self) -> str:
        """The frozen layers, and the sources of the weights."""
        config = self.config
        return json.dumps(["minilm", config.frozen_layers, config.rarity, config.frequencies])


class Model(TextTower):
    """s_t of words in context, weighted and scaled to |Σ_t s_t| = 1.

    With a prior λ every vector has one more number, ε λ / T for each of T words. So a word prefers
    a likely box among similar ones, and links still add up to the score.
    """

    stored_in_half = ("upper.", "project.")

    def __init__(self, config: Config) -> None:
        dimension = config.embedding + config.conse + (config.prior > 0)
        super().__init__(config, WeightedWords(config), dimension)
        self.known_start = ("upper.", "project.") if config.names else ("upper.",)
        self.upper = upper_minilm(config.frozen_layers, config.layer_dropout)
        self.dropout = nn.Dropout(config.word_dropout)
        self.project = nn.Linear(MINILM_HIDDEN, config.embedding, bias=False)
        self.conse = NamedTexts(config.conse, config.frozen_layers) if config.conse else None

    def begin(self) -> None:
        """Map words along the names of classes, if options say so."""
        if self.config.names:
            with torch.no_grad():
                self.project.weight.copy_(classes.directions(self.config.embedding).T)
        if self.conse:
            self.conse.begin()

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """s_t (L, T, D) of states and weights (L, T + 2, H + 1); the marks are no fragments."""
        states, mask = inputs.vectors, inputs.mask
        tokens, weights = torch.split(states[mask], [MINILM_HIDDEN, 1], dim=1)  # (N, H), (N, 1)
        networks = [self.upper, *([self.conse.upper] if self.conse else [])]
        tokens, *for_names = pass_each(networks, tokens, mask)
        placed = states.new_zeros(*mask.shape, self.config.embedding)
        placed[mask] = (weights * self.project(self.dropout(tokens))).to(placed.dtype)
        s = placed[:, 1:-1]  # (L, T, D), and zero for padding
        total = torch.linalg.vector_norm(s.sum(1, keepdim=True), dim=-1, keepdim=True)  # (L, 1, 1)
        s = s / total.clamp(min=1e-6)
        words = mask[:, 2:]  # as many real places as words
        if self.conse:
            named = self.conse(*for_names, states[..., MINILM_HIDDEN], mask)
            s = torch.cat([s, named.to(s)], dim=-1)
        if self.config.prior:
            shares = words / words.sum(1, keepdim=True)  # (L, T)
            shares = LIKELIHOOD_SCALE * self.config.prior * shares
            s = torch.cat([s, shares.to(s)[..., None]], dim=-1)
        return PaddedBags(s, words)
