"""Contact sheets: crops of regions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.utils import make_grid

from models.vision.images import png
from models.whole_files import write_whole

SIDE = 160  # pixels of a tile
COLUMNS = 6
WHITE = 255


def write(file: Path, crops: Sequence[Tensor]) -> None:
    """Write crops, uint8 (3, h, w), row by row as a PNG; ValueError for none."""
    if not crops:
        raise ValueError("a contact sheet needs at least one region")
    tiles = torch.stack([tile(crop) for crop in crops])
    sheet = make_grid(tiles, nrow=COLUMNS, padding=4, pad_value=WHITE)
    with write_whole(file) as partial:
        partial.write_bytes(png(sheet))


def tile(crop: Tensor) -> Tensor:
    """Scale a crop into the middle of a white square, uint8 (3, SIDE, SIDE)."""
    scale = SIDE / max(crop.shape[1:])
    height, width = (max(1, round(side * scale)) for side in crop.shape[1:])
    scaled = F.interpolate(crop[None].float(), (height, width), mode="bicubic", antialias=True)[0]
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    square = torch.full((3, SIDE, SIDE), WHITE, dtype=torch.uint8)
    square[:, top : top + height, left : left + width] = scaled.round().clamp(0, WHITE).byte()
    return square
