"""Random parts and mirror images of photos, for a CNN in training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from training.evaluation.embedding import read_photos
from training.runs.cache import BATCH, Tensors

KEPT = 4 << 30  # bytes of pixels in memory; further photos are read each time
GPU_BATCH = 256  # photos in a pass on a GPU


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Random changes of photos: mirror images of half, and parts.

    cropped: the least share of each side of a part; 1 for whole photos.
    """

    mirrored: bool = False
    cropped: float = 1.0

    def change(self, pixels: Tensor) -> Tensor:
        """Change a photo (3, H, W) at random."""
        part = crop(pixels, self.cropped) if self.cropped < 1 else pixels
        return part.flip(-1) if self.mirrored and torch.rand(()) < 0.5 else part


AS_THEY_ARE = Augmentation()


def crop(pixels: Tensor, least: float) -> Tensor:
    """Crop a photo (3, H, W) at random, to a share of its sides."""
    shares = torch.rand(4).tolist()
    for axis, share, place in zip((1, 2), shares[:2], shares[2:], strict=True):
        side = pixels.shape[axis]
        length = max(1, round(side * (least + (1 - least) * share)))
        pixels = pixels.narrow(axis, round((side - length) * place), length)
    return pixels


class SeenPhotos(Tensors):
    """The inputs of photos, computed at each request.

    Pixels stay on the device where the CNN learns, up to KEPT bytes.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        compute: Callable[[Sequence[Tensor]], list[Tensor]],
        augmentation: Augmentation = AS_THEY_ARE,
        device: str = "cpu",
    ) -> None:
        self.paths, self.compute = paths, compute
        self.augmentation, self.device = augmentation, device
        self.batch = BATCH if device == "cpu" else GPU_BATCH
        self.kept: dict[int, Tensor] = {}
        self.room = KEPT

    def __len__(self) -> int:
        return len(self.paths)

    def take(self, positions: Sequence[int]) -> list[Tensor]:
        """Compute the tensors at positions, a batch at a time."""
        return [
            tensor
            for first in range(0, len(positions), self.batch)
            for tensor in self.compute_some(positions[first : first + self.batch])
        ]

    def compute_some(self, positions: Sequence[int]) -> list[Tensor]:
        """Compute the tensors of changed photos at positions."""
        return self.compute([self.augmentation.change(photo) for photo in self.read(positions)])

    def read(self, positions: Sequence[int]) -> list[Tensor]:
        """Read the photos at positions, from memory if they were seen before."""
        missing = [k for k in dict.fromkeys(positions) if k not in self.kept]
        fresh = dict(zip(missing, read_photos([self.paths[k] for k in missing]), strict=True))
        photos = {k: pixels.to(self.device) for k, pixels in fresh.items()}
        for position, pixels in photos.items():
            if pixels.nbytes <= self.room:
                self.room -= pixels.nbytes
                self.kept[position] = pixels
        return [photos[k] if k in photos else self.kept[k] for k in positions]
