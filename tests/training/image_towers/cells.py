"""A small image tower of four cells, for training in tests."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from models.towers import ImageTower, Sight
from models.types import PaddedBags

PIXELS = 8  # a cell's side as the tower sees it
BOXES = torch.tensor(
    [
        [column / 2, row / 2, (column + 1) / 2, (row + 1) / 2]
        for row in range(2)
        for column in range(2)
    ]
)


@dataclass(frozen=True, slots=True)
class Config:
    dimension: int = 32
    dropout: float = 0.1


class Cells(Sight):
    def forward(self, images):
        small = [
            F.interpolate(image[None].float() / 255, (2 * PIXELS, 2 * PIXELS), mode="area")
            for image in images
        ]
        cells = F.unfold(torch.cat(small), PIXELS, stride=PIXELS)  # (K, 3 · PIXELS², 4)
        return list(cells.transpose(1, 2)), [BOXES] * len(images)

    def key(self):
        return f"cells {PIXELS}"


class Model(ImageTower):
    def __init__(self, config: Config) -> None:
        super().__init__(config, Cells(), config.dimension)
        self.regions = nn.Sequential(
            nn.Linear(3 * PIXELS**2, 64),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(64, config.dimension),
        )

    whole_features = 3 * PIXELS**2

    def whole(self, inputs):
        return inputs.vectors.mean(1)

    def forward(self, inputs):
        return PaddedBags(self.regions(inputs.vectors), inputs.mask)
