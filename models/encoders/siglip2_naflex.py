"""SigLIP 2 NaFlex (Tschannen et al. 2025): photos keep their shape, in grids of patches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.encoders import siglip
from models.encoders.halves import PhotoHalf, half
from models.encoders.library import transformers
from models.encoders.siglip import scale
from models.encoders.source import layout
from models.types import WHOLE_FRAME, Box

__all__ = ["Photos", "Texts", "scale"]


@dataclass(frozen=True, slots=True)
class Patches:
    """Patches (K, P, C · S · S) of photos; the first rows · columns (K, 2) are real."""

    values: Tensor
    shapes: Tensor

    def __len__(self) -> int:
        """The number of photos."""
        return len(self.values)

    def to(self, like: Tensor) -> Patches:
        """These patches in another tensor's precision and on its device."""
        return Patches(self.values.to(like), self.shapes.to(like.device))

    @property
    def real(self) -> Tensor:
        """The mask of real patches, (K, P)."""
        places = torch.arange(self.values.shape[1], device=self.shapes.device)
        return places < self.shapes.prod(1)[:, None]


@dataclass(frozen=True, slots=True)
class PatchPreparation:
    """From photos to patches, by the image processor of the encoder's folder."""

    processor: Any

    def __call__(self, images: Sequence[Tensor]) -> Patches:
        """The patches of uint8 photos (3, H, W)."""
        made = self.processor(list(images), return_tensors="pt", input_data_format="channels_first")
        return Patches(made["pixel_values"], made["spatial_shapes"])

    def visible_part(self, height: int, width: int) -> Box:  # noqa: ARG002 - of photos of any shape
        """The visible part of a photo: all of it."""
        return WHOLE_FRAME

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of a photo's patches, by the processor's rule."""
        processing = transformers().models.siglip2.image_processing_siglip2
        size, most = self.processor.patch_size, self.processor.max_num_patches
        tall, wide = processing.get_image_size_for_max_num_patches(height, width, size, most)
        return tall // size, wide // size


class Photos(siglip.Photos):
    """SigLIP's photos in grids of patches, each of the photo's own shape."""

    preparation: PatchPreparation

    def __init__(self, folder: Path, precision: str) -> None:
        network = half(transformers().Siglip2VisionModel, folder, precision)
        preparation = PatchPreparation(layout(folder).image_processor())
        most = preparation.processor.max_num_patches
        PhotoHalf.__init__(self, preparation, network, network.config.hidden_size, (1, most))

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of a photo's patches."""
        return self.preparation.grid(height, width)

    def states(self, pixels: Patches) -> tuple[Tensor, Tensor]:
        """States (K, P, H) before the first block, and the bias of attention (K, 1, 1, P)."""
        network: Any = self.network
        states: Tensor = network.embeddings(pixels.values, pixels.shapes)
        bias = states.new_zeros(len(states), 1, 1, states.shape[1])
        return states, bias.masked_fill(~pixels.real[:, None, None], -math.inf)

    def veil(self, pixels: Patches, veil: Tensor) -> Patches:
        """Patches faded into the photo's mean colour by shares (K, P)."""
        K, P, _ = pixels.values.shape
        colours = pixels.values.view(K, P, -1, self.channels)
        real = pixels.real[..., None, None].to(colours)
        sums, pixels_each = (colours * real).sum((1, 2)), real.sum((1, 2)) * colours.shape[2]
        mean = (sums / pixels_each)[:, None, None]  # (K, 1, 1, C)
        faded = torch.lerp(colours, mean, veil.to(colours)[..., None, None])
        return Patches(faded.flatten(2), pixels.shapes)

    @property
    def channels(self) -> int:
        """Numbers of a pixel."""
        network: Any = self.network
        channels: int = network.config.num_channels
        return channels


class Texts(siglip.Texts):
    """Texts as SigLIP reads them."""

    model = "Siglip2TextModel"
