"""A text tower of one learned vector a known word."""

from dataclasses import dataclass

from torch import nn

from models.towers import TextTower
from models.types import PaddedBags
from models.words import Vocabulary


@dataclass(frozen=True, slots=True)
class Config:
    dimension: int = 32
    words: tuple[str, ...] = ()

    @property
    def learned(self):
        return ("words",)


class Model(TextTower):
    def __init__(self, config: Config) -> None:
        super().__init__(config, config.dimension)
        self.vocabulary = Vocabulary(config.words)
        self.words = nn.Embedding(len(self.vocabulary), config.dimension)

    def inputs(self, sentences):
        return [self.vocabulary.encode(sentence)[:, None] for sentence in sentences]

    def key(self):
        return f"words {self.config.words}"

    def forward(self, inputs):
        return PaddedBags(self.words(inputs.vectors[..., 0]), inputs.mask)
