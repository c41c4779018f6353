"""Image tower of one vector a photo, by a two-branch network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from models.layers import Branch
from models.towers import ImageTower
from models.types import PaddedBags
from models.vision.regions import Standardize
from models.vision.sight import RegionSight


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; no `hidden` makes the branch linear.

    Lite0 features stand for the paper's VGG-19.

    `tuned` trains the CNN as well, from the stage `first_tuned` on, see models.vision.lite.
    """

    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    tuned: bool = False
    first_tuned: int | None = None
    hidden: int = 1024
    embedding: int = 512
    dropout: float = 0.2
    input_dropout: float = 0.5


class Model(ImageTower):
    """x of length one, by models.layers.Branch   (Wang, Li & Lazebnik 2016, section 3.1)."""

    def __init__(self, config: Config) -> None:
        sight = RegionSight(
            config.backbone, config.sizes, "frame", config.tuned, first_tuned=config.first_tuned
        )
        super().__init__(config, sight, config.embedding)
        self.standardize = Standardize(sight.channels)
        sizes = sight.channels, config.hidden, config.embedding
        self.branch = Branch(*sizes, config.dropout, config.input_dropout)

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's frames."""
        self.standardize.fit(inputs)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Vectors x (K, 1, D) of features (K, 1, C)."""
        x = self.branch(self.standardize(inputs.vectors[:, 0]))  # (K, D)
        return PaddedBags(x[:, None], inputs.mask)
