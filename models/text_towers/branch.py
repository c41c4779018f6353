"""Text tower of one vector a sentence, by a two-branch network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from models.layers import Branch
from models.text.readers import NumberReader, WordReader
from models.text.sentence_features import FEATURES, sentence_features
from models.towers import TextTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """A sentence's features before its branch, and sizes; no `hidden` is linear.

    MiniLM's vectors of single words stand for the paper's word2vec. hglmm: `axes` numbers a word,
    `components` of the mixture, `principal` numbers a sentence. tfidf: `words` are train's
    frequent ones as written; the paper takes their lemmas.
    """

    features: str = "hglmm"
    words: tuple[str, ...] = ()
    axes: int = 64
    components: int = 30
    principal: int = 1000
    hidden: int = 1024
    embedding: int = 512
    dropout: float = 0.2
    input_dropout: float = 0.2

    def __post_init__(self) -> None:
        if self.features not in FEATURES:
            raise ValueError(f"no features {self.features!r}; there are: {', '.join(FEATURES)}")

    @property
    def learned(self) -> tuple[str, ...]:
        """The fields filled from train's sentences."""
        return ("words",) if self.features == "tfidf" else ()


class Model(TextTower):
    """y of length one, by models.layers.Branch   (Wang, Li & Lazebnik 2016, section 3.1)."""

    precomputes = True

    def __init__(self, config: Config) -> None:
        numbers = config.features == "tfidf"
        reader = NumberReader(config.words) if numbers else WordReader(whole=True)
        super().__init__(config, reader, config.embedding)
        sizes_of = config.axes, config.components, config.principal
        self.features = sentence_features(config.features, len(config.words), *sizes_of)
        sizes = self.features.features, config.hidden, config.embedding
        self.branch = Branch(*sizes, config.dropout, config.input_dropout)

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:  # noqa: ARG002 - of any photo
        """Fit the sentence features."""
        self.features.fit(inputs)

    def precompute(self, inputs: PaddedBags) -> PaddedBags:
        """One vector a sentence, (L, 1, C), of word vectors (L, T, W) or numbers (L, T, 1)."""
        features = self.features(inputs.vectors, inputs.mask)
        return PaddedBags(features[:, None], inputs.mask[:, :1])

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors y (L, 1, D) of features (L, 1, C)."""
        y = self.branch(inputs.vectors[:, 0])  # (L, D)
        return PaddedBags(y[:, None], inputs.mask)
