"""Image tower of a pretrained dual encoder: photo and boxes."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encoders.adapter import Adapter
from models.encoders.halves import ADDED, PRECISIONS, RECIPES, PhotoHalf
from models.encoders.photos import patch_weights
from models.encoders.source import EncoderSource, Files, family
from models.rooms import PREFIX
from models.towers import ImageTower, Sight
from models.types import PaddedBags
from models.vision import backbones, proposals
from models.vision.backbones import squash
from models.vision.proposals import Windows

AGAINST = ("photo", "boxes")
TOGETHER = 2  # photos of a pass with rollout, which keeps the attention of all patches
MAPS = ("lite0", 448)  # the network and size whose maps learned proposals read


@dataclass(frozen=True, slots=True)
class Config:
    """A source of weights (models.encoders.source) and options of the tower.

    `recipe` makes boxes' vectors, see models.encoders.halves. `against` is the base of their
    differences: the "photo", or the mean of its "boxes". `regions` is λ, a box's weight in its
    fragment. `proposals` names the boxes, see models.vision.proposals. `scale` multiplies cosines,
    half of it here and half in the text tower. `rank` is that of the trained maps.
    """

    folder: str
    files: Files
    revision: str = ""
    regions: float = 0.2
    recipe: str = "value"
    against: str = "boxes"
    proposals: str = "windows"
    scale: float = 100.0
    rank: int = 32
    precision: str = "float32"

    def __post_init__(self) -> None:
        if not 0 <= self.regions <= 1:
            raise ValueError(f"regions is {self.regions}; use 0 (the photo alone) to 1")
        if self.recipe not in RECIPES:
            raise ValueError(f"no recipe {self.recipe!r} for boxes; use {', '.join(RECIPES)}")
        if self.against not in AGAINST:
            raise ValueError(f"boxes cannot be against {self.against!r}; use {', '.join(AGAINST)}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"no precision {self.precision!r}; use {' or '.join(PRECISIONS)}")

    @property
    def source(self) -> EncoderSource:
        """The folder of the weights."""
        return EncoderSource(self.folder, self.files, self.revision)


class EncoderSight(Sight):
    """The encoder's unit vector of a photo, and vectors of its boxes.

    Boxes' vectors have length one too, or are the photo's plus an addition.
    """

    packaged = ("vision.", "backbone.")

    def __init__(self, config: Config) -> None:
        super().__init__()
        folder = config.source.check()
        module = importlib.import_module(f"{PREFIX}models.encoders.{family(folder)}")
        self.vision: PhotoHalf = module.Photos(folder, config.precision)
        if config.recipe not in self.vision.recipes:
            raise ValueError(
                f"{family(folder)} has no recipe {config.recipe!r} for boxes; "
                f"use {', '.join(self.vision.recipes)}"
            )
        self.config = config
        self.proposer = proposals.load(config.proposals)
        blind = isinstance(self.proposer, Windows)
        self.backbone = None if blind else backbones.load(MAPS[0]).requires_grad_(False)
        if isinstance(self.proposer, nn.Module):
            self.proposer.requires_grad_(False)

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Vectors (R, D) and boxes (R, 4) of each uint8 photo (3, H, W)."""
        most = TOGETHER if self.config.recipe == "rollout" else max(len(images), 1)
        vectors, boxes = list[Tensor](), list[Tensor]()
        for start in range(0, len(images), most):
            part = self.look(images[start : start + most])
            vectors += part[0]
            boxes += part[1]
        return vectors, boxes

    def look(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Vectors and boxes of photos in one pass."""
        parameter = next(self.vision.parameters())
        pixels = self.vision.preparation(images).to(parameter)
        boxes = self.proposer.propose(images, self.maps(images)).to(parameter.device)
        weights = torch.stack([self.weights(*pair) for pair in zip(images, boxes, strict=True)])
        inside = weights.sum(-1, keepdim=True) > 0  # a crop may leave a box out
        photos, regions = self.vision(pixels, weights, self.config.recipe)
        photos, regions = photos.float()[:, None], regions.float()  # (K, 1, D), (K, R - 1, D)
        added = self.config.recipe in ADDED  # additions keep their lengths
        lengths = torch.linalg.vector_norm(photos if added else regions, dim=-1, keepdim=True)
        photos = F.normalize(photos, dim=-1)
        regions = torch.where(inside, regions / lengths.clamp_min(1e-12), photos)
        return list(torch.cat([photos, regions], 1)), list(boxes.float())

    def maps(self, images: Sequence[Tensor]) -> Sequence[Tensor]:
        """The maps for proposals; empty ones for proposals without a look."""
        device = next(self.vision.parameters()).device
        if self.backbone is None:
            return [torch.empty(len(images), 0, device=device)]
        maps: Sequence[Tensor] = self.backbone.pyramid(squash(images, MAPS[1], device))
        return maps

    def weights(self, image: Tensor, boxes: Tensor) -> Tensor:
        """The patches (R - 1, P) of each box without the frame; padding has none."""
        _, height, width = image.shape
        visible = self.vision.preparation.visible_part(height, width)
        weights = patch_weights(boxes[1:].float(), visible, *self.vision.grid(height, width))
        return F.pad(weights, (0, self.vision.rows * self.vision.columns - weights.shape[1]))

    def key(self) -> str:
        """The weights, the way they compute, and the boxes."""
        config = self.config
        how: list[Any] = [config.recipe, config.precision, self.proposer.key()]
        return json.dumps(["pretrained", config.source.key, *how])


class Model(ImageTower):
    """v_0 = s f and v_i = s (f + λ a_i + B a_i), with f along x_0 + A x_0.

    x_0 is the photo's unit vector, and x_i a box's. A and B are zero before training. With a_i =
    x_i − x_0 (against the photo), v_i = s ((1 − λ) x_0 + λ x_i): with words u_t the sum of max is
    s ((1 − λ) cos + λ Σ_t max_i u_tᵀ x_i), the encoder's own cosine and a late interaction. Boxes'
    vectors were not trained to be compared with the photo's and may all lie to one side of it:
    a_i = x_i − mean_j x_j (against the boxes) leaves this out.
    """

    stored_in_half = ("photo.", "boxes.")

    def __init__(self, config: Config) -> None:
        sight = EncoderSight(config)
        super().__init__(config, sight, sight.vision.dimension)
        self.photo = Adapter(self.dimension, config.rank)
        self.boxes = Adapter(self.dimension, config.rank)
        self.log_scale = nn.Parameter(torch.tensor(math.log(config.scale) / 2))

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """Fragments (K, R, D) of vectors (K, R, D)."""
        x = inputs.vectors.float()
        f = F.normalize(x[:, :1] + self.photo(x[:, :1]), dim=-1)  # (K, 1, D)
        apart = differences(x, inputs.mask, self.config.against)  # (K, R, D)
        vectors = f + self.config.regions * apart + self.boxes(apart)
        return PaddedBags(self.log_scale.exp() * vectors, inputs.mask)

    @property
    def whole_features(self) -> int:
        """The numbers of the encoder's vector."""
        return self.dimension

    def whole(self, inputs: PaddedBags) -> Tensor:
        """The encoder's unit vectors (K, D) of whole photos."""
        return inputs.vectors[:, 0].float()


def differences(x: Tensor, mask: Tensor, against: str) -> Tensor:
    """Differences of boxes (K, R, D) from the photo or their mean; mask (K, R).

    Zero for the first, the photo, and for boxes that have its vector because no patch is in them.
    """
    boxes = (mask & (x != x[:, :1]).any(-1))[..., None]  # (K, R, 1)
    if against == "photo":
        return (x - x[:, :1]) * boxes
    mean = (x * boxes).sum(1, keepdim=True) / boxes.sum(1, keepdim=True).clamp_min(1)
    return (x - mean) * boxes
