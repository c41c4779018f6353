"""Text tower of a retriever: its token vectors of a text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from models.encoders import late_interaction
from models.encoders.source import EncoderSource, Files
from models.text.parsing import SentenceReader
from models.towers import FragmentPlace, TextTower
from models.types import PaddedBags, ParsedSentence


@dataclass(frozen=True, slots=True)
class Config:
    """A source of weights (models.encoders.source)."""

    folder: str
    files: Files
    revision: str = ""
    precision: str = "float32"

    @property
    def source(self) -> EncoderSource:
        """The folder of the weights."""
        return EncoderSource(self.folder, self.files, self.revision)


class TokenReader(SentenceReader):
    """The unit vectors of a text's tokens; every word is read."""

    packaged = ("retriever.",)
    any_word = True

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.retriever = late_interaction.load(config.source, config.precision)

    def forward(self, texts: Sequence[str]) -> tuple[list[Tensor], list[list[FragmentPlace]]]:
        """Vectors (T, D) of each text, and their places; errors as in `parse`."""
        read = self.retriever.read(self.parse(texts))
        return [vectors for vectors, _ in read], [places for _, places in read]

    def inputs(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Vectors (T, D) of each sentence."""
        return [vectors for vectors, _ in self.retriever.read(sentences)]

    def key(self) -> str:
        """The weights, and the way they compute."""
        return json.dumps(["late", self.config.source.key, self.config.precision])


class Model(TextTower):
    """s_t = x_t: the retriever's own vectors."""

    def __init__(self, config: Config) -> None:
        reader = TokenReader(config)
        super().__init__(config, reader, reader.retriever.dimension)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (L, T, D): the inputs."""
        return inputs
