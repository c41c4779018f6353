"""Photos for an encoder: prepared, boxes as weights of patches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.encoders.source import layout
from models.types import WHOLE_FRAME, Box


@dataclass(frozen=True, slots=True)
class Preparation:
    """From photos to pixels, by the folder's image processor.

    `corner` rounds where a crop in the middle begins, as that processor does.
    """

    processor: Any
    corner: Callable[[float], int] = int

    @classmethod
    def of(cls, folder: Path) -> Preparation:
        """The processor of a folder; ValueError without a common size of photos."""
        where = layout(folder)
        processor = where.image_processor()
        size = processor.size
        if not processor.do_center_crop and not (size.height and size.width):
            raise ValueError(f"{folder} keeps the shape of photos; Tessera needs one size for all")
        return cls(processor, where.corner)

    def __call__(self, images: Sequence[Tensor]) -> Tensor:
        """Pixels (K, 3, S, S) of uint8 photos (3, H, W)."""
        pixels: Tensor = self.processor(
            list(images), return_tensors="pt", input_data_format="channels_first"
        )["pixel_values"]
        return pixels

    def visible_part(self, height: int, width: int) -> Box:
        """The visible part of the photo, in its fractions.

        All of it where photos are squashed, its middle where they are cropped; beyond 0 and 1
        where a crop is larger than the photo and padded.
        """
        if not self.processor.do_center_crop:
            return WHOLE_FRAME
        size, crop = self.processor.size, self.processor.crop_size
        if size.shortest_edge:
            short, long = sorted((height, width))
            resized = int(size.shortest_edge * long / short)
            edges = (size.shortest_edge, resized)
            tall, wide = edges if height <= width else edges[::-1]
        else:
            tall, wide = size.height, size.width
        top, left = self.corner((tall - crop.height) / 2), self.corner((wide - crop.width) / 2)
        return Box(left / wide, top / tall, (left + crop.width) / wide, (top + crop.height) / tall)


def patch_weights(boxes: Tensor, visible: Box, rows: int, columns: int) -> Tensor:
    """Each patch's share in each box, (R, rows · columns); 0 beyond the visible part.

    boxes (R, 4) are fractions of the photo, `visible` is the part of it with patches.

    >>> patch_weights(torch.tensor([[0.0, 0.0, 0.75, 0.5]]), WHOLE_FRAME, 2, 2)
    tensor([[1.0000, 0.5000, 0.0000, 0.0000]])
    """
    corner = boxes.new_tensor([visible.left, visible.top] * 2)
    extent = boxes.new_tensor([visible.right - visible.left, visible.bottom - visible.top] * 2)
    left, top, right, bottom = ((boxes - corner) / extent).unbind(1)  # (R,)
    across, down = cover(left, right, columns), cover(top, bottom, rows)
    return (down[:, :, None] * across[:, None, :]).flatten(1)


def cover(start: Tensor, end: Tensor, count: int) -> Tensor:
    """Overlaps (R, count) of `count` equal parts of 0 to 1 with start to end (R,)."""
    edges = torch.linspace(0, 1, count + 1, device=start.device, dtype=start.dtype)
    first = torch.maximum(start[:, None], edges[None, :-1])
    last = torch.minimum(end[:, None], edges[None, 1:])
    return (last - first).clamp_min(0) * count
