"""Image tower of one vector a photo, correlated with sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.scores.correlation import CorrelationView
from models.towers import ImageTower
from models.types import PaddedBags
from models.vision.regions import Standardize
from models.vision.sight import RegionSight


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes. kernel "linear" is CCA, "rbf" kernel CCA by `landmarks` training vectors."""

    kernel: str = "linear"
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    embedding: int = 200
    landmarks: int = 1500


class Model(ImageTower):
    """v of length one, by a CorrelationView fitted in models.scores.correlation."""

    def __init__(self, config: Config) -> None:
        sight = RegionSight(config.backbone, config.sizes, "frame", tuned=False)
        super().__init__(config, sight, config.embedding)
        self.standardize = Standardize(sight.channels)
        self.view = CorrelationView(
            sight.channels, config.embedding, config.kernel, config.landmarks
        )

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's frames."""
        self.standardize.fit(inputs)

    def features(self, inputs: Sequence[Tensor]) -> Tensor:
        """Input features of the view, from frames (1, C): (K, C)."""
        device = self.standardize.mean.device
        return torch.cat([self.standardize(frame.to(device)) for frame in inputs])

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors v (K, 1, D) of features (K, 1, C)."""
        return PaddedBags(self.view(self.standardize(inputs.vectors)), inputs.mask)
