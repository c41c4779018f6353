"""Looks at one photo: its frozen features and boxes, computed once for all models of a sight."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.registry import Captioner
from models.towers import Sight


class Look:
    """A photo (3, height, width), uint8 RGB, and what each sight saw of it. For one thread."""

    def __init__(self, pixels: Tensor) -> None:
        self.pixels = pixels
        self._by_sight: dict[Sight, tuple[Tensor, Tensor]] = {}
        self._by_part: dict[Any, Any] = {}

    @torch.inference_mode()
    def by(self, sight: Sight) -> tuple[Tensor, Tensor]:
        """Inputs (F, C) and boxes (R, 4), computed when a sight is first asked for."""
        if sight not in self._by_sight:
            (inputs,), (boxes,) = sight.beside([self.pixels], self._by_part)
            self._by_sight[sight] = inputs, boxes
        return self._by_sight[sight]


def share_sight(sight: Sight, *captioners: Captioner | None) -> None:
    """Give captioners this sight, or each other's, in place of one that sees the same.

    It is in memory once, and a photo is looked at once. Sights that differ share the parts that do
    not. A sight whose CNN was tuned with it stays alone.
    """
    sights = {} if sight.tuned else {sight.key(): sight}
    for captioner in captioners:
        if captioner is not None and not captioner.sight.tuned:
            captioner.sight = sights.setdefault(captioner.sight.key(), captioner.sight)
            for other in sights.values():
                captioner.sight.share(other)
