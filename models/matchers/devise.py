"""DeViSE as a baseline: photos mapped into the space of word vectors (Frome et al. 2013)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from models.matcher import VectorMatcher
from models.regions import RegionEncoder
from models.sentences import MeanVector
from models.types import PaddedBags, ParsedSentence
from models.words import MINILM_HIDDEN, WordVectors


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; MiniLM's vectors of single words stand for the paper's skip-grams."""

    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    dropout: float = 0.5


class Model(VectorMatcher):
    """S_kl = vᵀ s of v = W CNN(photo) + b and s the mean word vector, of length one.

    As Karpathy et al. 2014 compare with it (section 4.1), except that the whole frame's feature
    stands for the mean over detected objects. Words stay as they are: photos come to them.
    """

    packaged = ("sight.", "vectors.")

    def __init__(self, config: Config) -> None:
        super().__init__(config.backbone, tuple(config.sizes))
        self.config = config
        self.dimension = MINILM_HIDDEN
        self.vectors = WordVectors()
        self.text = MeanVector(MINILM_HIDDEN)
        self.photo = RegionEncoder(self.sight.channels, self.dimension, config.dropout)
        # Scores start near zero, so that the hinges start near their margin.
        nn.init.normal_(self.photo.project.weight, std=0.1 * self.sight.channels**-0.5)

    def prepare(self, images: Sequence[Tensor], sentences: Sequence[Tensor], _: object) -> None:
        """Measure train's photos and sentences."""
        self.photo.fit(images)
        self.text.fit(sentences)

    def frozen(self, sentences: Sequence[ParsedSentence]) -> list[Tensor]:
        """Word vectors (T, W)."""
        vectors: list[Tensor] = self.vectors(sentences)
        return vectors

    def sentence_key(self) -> str:
        """Word vectors are the same for every matcher."""
        return json.dumps(["word vectors"])

    def encode_images(self, inputs: PaddedBags) -> PaddedBags:
        """Photos v (K, 1, D) of inputs (K, 1, C)."""
        x = inputs.vectors.to(self.photo.project.weight.device)
        return PaddedBags(self.photo(x), inputs.mask.to(x.device))

    def encode_sentences(self, inputs: PaddedBags) -> PaddedBags:
        """Sentences s (L, 1, D) of inputs (L, T, W)."""
        device = self.photo.project.weight.device
        mask = inputs.mask.to(device)
        s = F.normalize(self.text(inputs.vectors.to(device), mask), dim=-1)  # (L, D)
        return PaddedBags(s[:, None], mask[:, :1])
