"""Text tower of one vector a sentence: its mean word vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from models.text.readers import WordReader
from models.text.sentence_features import MeanVector
from models.text.words import MINILM_HIDDEN
from models.towers import TextTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """No options: MiniLM's vectors of single words, 384 numbers, stand for skip-grams."""


class Model(TextTower):
    """s = the mean word vector, of length one   (Karpathy et al. 2014, section 4.1, of DeViSE).

    Nothing is trained: photos come to words.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(config, WordReader(whole=True), MINILM_HIDDEN)
        self.mean = MeanVector(MINILM_HIDDEN)

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:  # noqa: ARG002 - of any photo
        """Measure train's sentences."""
        self.mean.fit(inputs)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors s (L, 1, W) of word vectors (L, T, W)."""
        s = F.normalize(self.mean(inputs.vectors, inputs.mask), dim=-1)  # (L, W)
        return PaddedBags(s[:, None], inputs.mask[:, :1])
