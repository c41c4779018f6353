"""A text tower of one learned vector a known word."""

from dataclasses import dataclass

from torch import nn

from models.text.parsing import SentenceReader
from models.text.words import Vocabulary
from models.towers import TextTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    dimension: int = 32
    words: tuple[str, ...] = ()

    @property
    def learned(self):
        return ("words",)


class Numbers(SentenceReader):
    def __init__(self, words) -> None:
        super().__init__()
        self.words, self.vocabulary = words, Vocabulary(words)

    def inputs(self, sentences):
        return [self.vocabulary.encode(sentence)[:, None] for sentence in sentences]

    def key(self):
        return f"words {self.words}"


class Model(TextTower):
    def __init__(self, config: Config) -> None:
        reader = Numbers(config.words)
        super().__init__(config, reader, config.dimension)
        self.words = nn.Embedding(len(reader.vocabulary), config.dimension)

    def forward(self, inputs):
        return PaddedBags(self.words(inputs.vectors[..., 0]), inputs.mask)
