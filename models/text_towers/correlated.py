"""Text tower of one vector a sentence: directions of mean words that correlate with photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.correlation import View
from models.readers import WordReader
from models.sentences import MeanVector
from models.towers import TextTower
from models.types import PaddedBags
from models.words import MINILM_HIDDEN


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes. kernel "linear" is CCA, "rbf" kernel CCA by `landmarks` training vectors."""

    kernel: str = "linear"
    embedding: int = 200
    landmarks: int = 1500


class Model(TextTower):
    """y of length one, by a View that models.correlation solves for.

    Sentences are the means of their word vectors (Socher et al. 2014, section 6).
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config, WordReader(whole=True), config.embedding)
        self.mean = MeanVector(MINILM_HIDDEN)
        self.view = View(MINILM_HIDDEN, config.embedding, config.kernel, config.landmarks)

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:  # noqa: ARG002 - of any photo
        """Measure train's sentences."""
        self.mean.fit(inputs)

    def features(self, inputs: Sequence[Tensor]) -> Tensor:
        """What the view projects of inputs, each (T, W): (L, W)."""
        means = torch.stack([words.mean(0) for words in inputs]).to(self.mean.mean)
        return (means - self.mean.mean) / self.mean.deviation

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors y (L, 1, D) of word vectors (L, T, W)."""
        y = self.view(self.mean(inputs.vectors, inputs.mask))  # (L, D)
        return PaddedBags(y[:, None], inputs.mask[:, :1])
