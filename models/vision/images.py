"""Photos as tensors: decoding, and the display copy of each."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.types import Box
from models.vision import photo_decoding
from models.vision.photo_decoding import DISPLAY_SIDE, MOST_BYTES, MOST_PIXELS, Pixels


@dataclass(frozen=True, slots=True)
class Photo:
    """An upright sRGB photo: pixels uint8 (3, height, width), and notes on omissions."""

    pixels: Tensor
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayCopy(Photo):
    """The stored copy of a photo: a JPEG, and its pixels.

    It has no metadata.

    Embedding these pixels makes a later re-embedding from the JPEG give the same answers.
    """

    jpeg: bytes

    @property
    def width(self) -> int:
        """In pixels."""
        return self.pixels.shape[2]

    @property
    def height(self) -> int:
        """In pixels."""
        return self.pixels.shape[1]


def decode(
    data: bytes,
    *,
    most_bytes: int = MOST_BYTES,
    most_pixels: int = MOST_PIXELS,
    longest: int | None = None,
) -> Photo:
    """The photo in a file's bytes.

    Arguments and errors are those of models.vision.photo_decoding.decode.
    """
    decoded = photo_decoding.decode(
        data, most_bytes=most_bytes, most_pixels=most_pixels, longest=longest
    )
    return Photo(as_tensor(decoded.pixels), decoded.notes)


def display_copy(photo: Photo) -> DisplayCopy:
    """The display copy of a photo, to store and embed.

    Its long side has at most DISPLAY_SIDE pixels.
    """
    jpeg = photo_decoding.display_jpeg(as_array(photo.pixels))
    return DisplayCopy(pixels=decode(jpeg).pixels, notes=photo.notes, jpeg=jpeg)


def read(
    data: bytes, *, most_bytes: int = MOST_BYTES, most_pixels: int = MOST_PIXELS
) -> DisplayCopy:
    """The display copy of a file's photo; errors as in `decode`."""
    limits = {"most_bytes": most_bytes, "most_pixels": most_pixels}
    return display_copy(decode(data, longest=DISPLAY_SIDE, **limits))


def as_tensor(pixels: Pixels) -> Tensor:
    """Pixels (height, width, 3) as a tensor (3, height, width)."""
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


def as_array(pixels: Tensor) -> Pixels:
    """Pixels (3, height, width) as an array (height, width, 3)."""
    return pixels.permute(1, 2, 0).numpy()


def crop(pixels: Tensor, part: Box) -> Tensor:
    """A part of a photo (3, height, width), of at least one pixel."""
    height, width = pixels.shape[1:]
    left, top = int(part.left * width), int(part.top * height)
    right = max(left + 1, round(part.right * width))
    bottom = max(top + 1, round(part.bottom * height))
    return pixels[:, top:bottom, left:right]


def png(pixels: Tensor) -> bytes:
    """Pixels uint8 (3, height, width) as a PNG file's bytes."""
    return photo_decoding.png(as_array(pixels))
