"""Image tower of one vector a photo: principal components of its CNN feature, mapped affinely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.components import PrincipalComponents
from models.regions import Standardize
from models.sight import RegionSight
from models.towers import ImageTower
from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; the feature is reduced to `components` numbers first.

    `unit` gives v length one: the paper does not, and then long vectors answer everything.
    """

    unit: bool = True
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    components: int = 300
    embedding: int = 200
    dropout: float = 0.4


class Model(ImageTower):
    """v = W_I z   (Socher et al. 2014, section 5), z being the whole frame's CNN feature."""

    def __init__(self, config: Config) -> None:
        sight = RegionSight(config.backbone, config.sizes, "frame", tuned=False)
        super().__init__(config, sight, config.embedding)
        self.standardize = Standardize(sight.channels)
        self.reduce = PrincipalComponents(sight.channels, config.components, whiten=False)
        self.dropout = nn.Dropout(config.dropout)
        self.project = nn.Linear(config.components, config.embedding)  # W_I
        # Scores start near zero, so that hinges start near their margin.
        nn.init.normal_(self.project.weight, std=0.1 * config.components**-0.5)

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's frames, and find their principal components."""
        self.standardize.fit(inputs)
        device = self.project.weight.device
        self.reduce.fit(self.standardize(torch.cat([frame.to(device) for frame in inputs])))

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors v (K, 1, D) of features (K, 1, C)."""
        z = self.reduce(self.standardize(inputs.vectors))
        v = self.project(self.dropout(z)).float()
        return PaddedBags(F.normalize(v, dim=-1) if self.config.unit else v, inputs.mask)
