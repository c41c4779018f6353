"""Image tower of the matcher that ships: regions as the photo's vector plus what each adds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.regions import RegionEncoder
from models.sight import RegionSight
from models.towers import LIKELIHOOD_SCALE, ImageTower
from models.types import PaddedBags

FRAME = -1.0  # the whole frame's prior: between the second box's and the third's


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes. `proposals` names the boxes, see models.proposals; their order is their likelihood.

    `likelihood` gives every vector one more number, which a text tower with a prior weighs.
    `temperature` is where the scale of scores starts. `tuned` trains the CNN as well.
    """

    proposals: str = "windows"
    likelihood: bool = False
    backbone: str = "lite0"
    sizes: tuple[int, ...] = (224, 448)
    tuned: bool = False
    embedding: int = 256
    photo_dropout: float = 0.4
    region_dropout: float = 0.4
    region_scale: float = 0.01
    temperature: float = 0.05


class Model(ImageTower):
    """v_0 = f and v_i = f + l_i: f is the photo's vector, l_i what region i adds.

    With words s_t whose sum has length one, the sum of max is S_kl = fᵀ Σ_t s_t + Σ_t max_i l_iᵀ
    s_t (l_0 = 0): the match of the whole with the whole, which its words share out, plus what
    regions add to single words. A word links to the whole photo when no region says more.

    `likelihood` appends −log r / ε for the r-th best box and −1 / ε for the frame. ε keeps the
    number's counterpart small among words, which are compared with each other in text to text
    search.
    """

    stored_in_half = ("photo.project.", "regions.project.")

    def __init__(self, config: Config) -> None:
        sight = RegionSight(config.backbone, config.sizes, config.proposals, config.tuned)
        super().__init__(config, sight, config.embedding + config.likelihood)
        self.finest = sight.channels // len(config.sizes)  # regions use the largest size alone
        self.photo = RegionEncoder(sight.channels, config.embedding, config.photo_dropout)
        self.regions = RegionEncoder(self.finest, config.embedding, config.region_dropout)
        # Regions start by adding nothing, so training starts from one vector a photo.
        nn.init.zeros_(self.regions.project.weight)
        nn.init.zeros_(self.regions.project.bias)
        # Scores are logits: the inverse temperature is a magnitude of the photo's vector.
        self.log_scale = nn.Parameter(torch.tensor(-math.log(config.temperature)))

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's photos and regions apart: means over more cells vary less."""
        self.photo.fit(image[:1] for image in inputs)
        self.regions.fit(image[1:, -self.finest :] for image in inputs)

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """v_i (K, R, D) of features (K, R, C)."""
        x = inputs.vectors
        f = F.normalize(self.photo(x[:, :1]).float(), dim=-1)  # (K, 1, D)
        added = self.config.region_scale * self.regions(x[:, 1:, -self.finest :]).float()
        vectors = self.log_scale.exp() * torch.cat([f, f + added], dim=1)
        if self.config.likelihood:
            order = torch.arange(vectors.shape[1], device=vectors.device)
            likely = -order.clamp_min(1).float().log()  # (R,)
            likely[0] = FRAME
            vectors = torch.cat(
                [vectors, likely.expand(len(x), -1)[..., None] / LIKELIHOOD_SCALE], -1
            )
        return PaddedBags(vectors, inputs.mask)
