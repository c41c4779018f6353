"""Image tower of one vector a photo, by principal components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import PrincipalComponents
from models.towers import ImageTower
from models.types import PaddedBags
from models.vision.regions import Standardize
from models.vision.sight import RegionSight


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; the feature is reduced to `components` numbers first.

    `unit` gives v length one: the paper does not, and long vectors then answer everything. The
    feature is the mean over the boxes of `proposals`: the whole frame alone, or the boxes of
    Karpathy et al.'s own model (2014, section 4.1), as they do for SDT-RNN and DeViSE. `crop` is
    as in the tower `regions`.
    """

    unit: bool = True
    proposals: str = "frame"
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    components: int = 300
    embedding: int = 200
    dropout: float = 0.4
    crop: int = 0


class Model(ImageTower):
    """v = W_I z   (Socher et al. 2014, section 5), z being the components of the CNN feature."""

    precomputes = True

    def __init__(self, config: Config) -> None:
        sight = RegionSight(
            config.backbone, config.sizes, config.proposals, tuned=False, crop=config.crop
        )
        super().__init__(config, sight, config.embedding)
        self.standardize = Standardize(sight.channels)
        self.reduce = PrincipalComponents(sight.channels, config.components, whiten=False)
        self.dropout = nn.Dropout(config.dropout)
        self.project = nn.Linear(config.components, config.embedding)  # W_I
        # Scores start near zero, so that hinges start near their margin.
        nn.init.normal_(self.project.weight, std=0.1 * config.components**-0.5)

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's features, and find their principal components."""
        device = self.project.weight.device
        means = [regions.to(device).float().mean(0, keepdim=True) for regions in inputs]
        self.standardize.fit(means)
        self.reduce.fit(self.standardize(torch.cat(means)))

    def precompute(self, inputs: PaddedBags) -> PaddedBags:
        """The components z (K, 1, C') of features (K, R, C)."""
        mask = inputs.mask[..., None]
        means = (inputs.vectors.float() * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
        return PaddedBags(self.reduce(self.standardize(means)), inputs.mask[:, :1])

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors v (K, 1, D) of components z (K, 1, C')."""
        v = self.project(self.dropout(inputs.vectors)).float()
        return PaddedBags(F.normalize(v, dim=-1) if self.config.unit else v, inputs.mask)
