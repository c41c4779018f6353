"""Text tower of words in context, by a bidirectional recurrent network."""

from __future__ import annotations

from dataclasses import dataclass

from models.text.readers import WordReader
from models.text.words import BRNN, MINILM_HIDDEN
from models.towers import TextTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; MiniLM's fixed vectors of single words stand for word2vec."""

    hidden: int = 400
    embedding: int = 256
    dropout: float = 0.3


class Model(TextTower):
    """s_t of models.text.words.BRNN   (Karpathy & Fei-Fei 2015, eq. 2-6)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, WordReader(), config.embedding)
        self.words = BRNN(MINILM_HIDDEN, config.hidden, config.embedding, config.dropout)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """s_t (L, T, D) of word vectors (L, T, W)."""
        return PaddedBags(self.words(inputs.vectors, inputs.mask), inputs.mask)
