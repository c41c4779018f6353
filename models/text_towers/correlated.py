"""Text tower of one vector a sentence, correlated with photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.scores.correlation import PART, CorrelationView
from models.text.readers import WordReader
from models.text.sentence_features import sentence_features
from models.towers import TextTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """A sentence's features before its view, "mean" or "hglmm", and sizes.

    kernel "linear" is CCA, "rbf" kernel CCA by `landmarks` training vectors. hglmm: `axes` numbers
    a word, `components` of the mixture, `principal` numbers a sentence.
    """

    kernel: str = "linear"
    embedding: int = 200
    landmarks: int = 1500
    features: str = "mean"
    axes: int = 64
    components: int = 30
    principal: int = 1000

    def __post_init__(self) -> None:
        if self.features not in ("mean", "hglmm"):
            raise ValueError(f"no features {self.features!r}; there are: mean, hglmm")


class Model(TextTower):
    """y of length one, by a CorrelationView fitted in models.scores.correlation.

    Sentences are the means of their word vectors (Socher et al. 2014, section 6), or their Fisher
    vectors (Klein et al. 2015; CCA (FV HGLMM) of Wang, Li & Lazebnik 2016, table 1).
    """

    precomputes = True

    def __init__(self, config: Config) -> None:
        super().__init__(config, WordReader(whole=True), config.embedding)
        sizes = config.axes, config.components, config.principal
        self.sentence = sentence_features(config.features, 0, *sizes)
        dimensions = config.embedding, config.kernel, config.landmarks
        self.view = CorrelationView(self.sentence.features, *dimensions)

    def prepare(self, inputs: Sequence[Tensor], owners: Sequence[int]) -> None:  # noqa: ARG002 - of any photo
        """Fit the sentence features."""
        self.sentence.fit(inputs)

    def features(self, inputs: Sequence[Tensor]) -> Tensor:
        """Input features of the view, from inputs (T, W): (L, C)."""
        device = self.view.centre.device
        parts = (inputs[at : at + PART] for at in range(0, len(inputs), PART))
        bags = (PaddedBags.of([sentence.to(device) for sentence in part]) for part in parts)
        return torch.cat([self.precompute(bag).vectors[:, 0] for bag in bags])

    def precompute(self, inputs: PaddedBags) -> PaddedBags:
        """One vector a sentence, (L, 1, C), of word vectors (L, T, W)."""
        features = self.sentence(inputs.vectors, inputs.mask)
        return PaddedBags(features[:, None], inputs.mask[:, :1])

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors y (L, 1, D) of features (L, 1, C)."""
        return PaddedBags(self.view(inputs.vectors), inputs.mask)
