"""Image tower of regions' CNN features, mapped affinely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from models.towers import ImageTower
from models.types import PaddedBags
from models.vision.regions import RegionEncoder
from models.vision.sight import RegionSight


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes. `proposals` names the boxes; "frame" makes one vector a photo.

    See models.vision.proposals. Lite0 features of windows stand for the papers' R-CNN detections;
    `tuned` trains the CNN as well; `crop` is the size at which boxes that are cut from the photo
    are seen, 0 for means over maps of the whole photo. `components` reduces a feature to as many
    numbers first, fitted before training: otherwise a step spends most of its time on features.
    """

    proposals: str = "windows"
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (448,)
    tuned: bool = False
    components: int = 0
    embedding: int = 256
    dropout: float = 0.5
    crop: int = 0

    def __post_init__(self) -> None:
        if self.tuned and self.components:
            raise ValueError("a tuned CNN moves the components of its features: leave them out")


class Model(ImageTower):
    """v_i = W_m CNN(I_b) + b_m of each region b   (Karpathy et al. 2014, eq. 2; 2015, eq. 1)."""

    def __init__(self, config: Config) -> None:
        sight = RegionSight(
            config.backbone, config.sizes, config.proposals, config.tuned, config.crop
        )
        super().__init__(config, sight, config.embedding)
        sizes = sight.channels, config.embedding, config.dropout, config.components
        self.regions = RegionEncoder(*sizes)
        self.precomputes = bool(config.components)
        # Scores start near zero, so that hinges start near their margin.
        nn.init.normal_(self.regions.project.weight, std=0.1 * self.regions.inputs**-0.5)

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's regions."""
        self.regions.fit(inputs)

    def precompute(self, inputs: PaddedBags) -> PaddedBags:
        """The components (K, R, C') of features (K, R, C), if the tower has some."""
        return PaddedBags(self.regions.precompute(inputs.vectors), inputs.mask)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """v_i (K, R, D) of precomputed inputs."""
        return PaddedBags(self.regions(inputs.vectors), inputs.mask)
