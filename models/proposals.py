"""Where to look in a photo: up to 19 boxes and the whole frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from models.types import WHOLE_FRAME, Box

REGIONS = 20  # the whole frame and 19 boxes (Karpathy & Fei-Fei 2015, section 3.1.1)


class Proposer(Protocol):
    """Finds boxes; a learned detector fits behind this as well as fixed windows."""

    def key(self) -> object:
        """A JSON value that changes whenever the boxes of a photo would."""
        ...

    def propose(self, maps: Tensor) -> Tensor:
        """Boxes (K, R, 4), fractions of the photo, the whole frame first, of maps (K, C, h, w)."""
        ...


def grid(count: int, size: float) -> list[Box]:
    """Overlapping squares, count × count of one size, row by row, that cover the frame."""
    starts = [step * (1 - size) / (count - 1) for step in range(count)]
    return [Box(left, top, left + size, top + size) for top in starts for left in starts]


def windows() -> tuple[Box, ...]:
    """The whole frame, four large squares, nine small ones, three rows and three columns."""
    starts = (0.0, 0.25, 0.5)
    rows = [Box(0.0, top, 1.0, top + 0.5) for top in starts]
    columns = [Box(left, 0.0, left + 0.5, 1.0) for left in starts]
    return (WHOLE_FRAME, *grid(2, 0.6), *grid(3, 0.45), *rows, *columns)


class Windows:
    """The same windows for every photo, twenty unless told otherwise."""

    def __init__(self, boxes: Sequence[Box] | None = None) -> None:
        chosen = windows() if boxes is None else boxes
        self.boxes = torch.tensor([[b.left, b.top, b.right, b.bottom] for b in chosen])

    def key(self) -> object:
        """The windows' corners."""
        return self.boxes.tolist()

    def propose(self, maps: Tensor) -> Tensor:
        """The windows (K, R, 4), whatever the photo shows."""
        return self.boxes.to(maps.device).expand(len(maps), -1, -1)
