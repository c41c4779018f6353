"""Decoding of untrusted photos: formats, limits, and the display copy that is kept."""

from __future__ import annotations

import struct
import warnings
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from threading import Lock

import numpy as np
import torch
from PIL import Image, ImageCms
from torch import Tensor

from models.limits import MOST_BYTES, MOST_PIXELS
from models.types import Box

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
DISPLAY_SIDE = 1280
DISPLAY_QUALITY = 90

# What Pillow raises for files that are broken in one way or another.
BROKEN = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, RuntimeError),
    *(ArithmeticError, AttributeError, AssertionError, MemoryError, struct.error),
)
ORIENTATION = 0x0112  # the EXIF tag, and what undoes each of its values
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_header = Lock()  # Pillow's limit and Python's warning filters belong to the whole process


class ImageError(ValueError):
    """Bytes that are no usable photo; the message says why and what would work."""


class NotAnImage(ImageError):
    """Bytes in none of the formats that are read."""


class ImageTooLarge(ImageError):
    """More bytes or pixels than allowed."""


@dataclass(frozen=True, slots=True)
class Photo:
    """An upright sRGB photo: pixels uint8 (3, height, width), and notes on what was left out."""

    pixels: Tensor
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DisplayCopy:
    """What is kept of a photo: a JPEG without metadata, and the pixels uint8 (3, h, w) it shows.

    Embedding these pixels makes a later re-embedding from the JPEG give the same answers.
    """

    jpeg: bytes
    pixels: Tensor

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
    """The photo in a file's bytes, shrunk where a side is longer than `longest` pixels.

    Size limits hold before anything is decoded. Transparency is laid over white, the first frame
    of an animation is taken. Raises ImageTooLarge, NotAnImage, and ImageError for a broken file.
    """
    if len(data) > most_bytes:
        raise ImageTooLarge(
            f"the image has {len(data):,} bytes; send one of at most {most_bytes:,} bytes"
        )
    image, orientation, notes = _open(data, most_pixels)
    form = image.format
    try:
        if longest:
            image.draft(
                "RGB", (longest, longest)
            )  # a JPEG can be decoded at a fraction of its size
        image.load()
        upright = _flatten(image, longest, orientation)
    except BROKEN as broken:
        raise ImageError(
            f"the {form} file is truncated or broken and cannot be decoded ({broken}); "
            "send a complete file"
        ) from broken
    return Photo(torch.from_numpy(np.array(upright)).permute(2, 0, 1).contiguous(), notes)


def display_copy(photo: Photo) -> DisplayCopy:
    """The copy of a photo to keep and to embed: long side at most DISPLAY_SIDE."""
    image = Image.fromarray(photo.pixels.permute(1, 2, 0).numpy())
    image.thumbnail((DISPLAY_SIDE, DISPLAY_SIDE), Image.Resampling.LANCZOS, reducing_gap=3.0)
    file = BytesIO()
    image.save(file, "JPEG", quality=DISPLAY_QUALITY)
    return DisplayCopy(file.getvalue(), decode(file.getvalue()).pixels)


def crop(pixels: Tensor, part: Box) -> Tensor:
    """The part of a photo (3, height, width), at least one pixel wide and high."""
    height, width = pixels.shape[1:]
    left, top = int(part.left * width), int(part.top * height)
    right = max(left + 1, round(part.right * width))
    bottom = max(top + 1, round(part.bottom * height))
    return pixels[:, top:bottom, left:right]


def png(pixels: Tensor) -> bytes:
    """Pixels uint8 (3, height, width) as a PNG file's bytes."""
    file = BytesIO()
    Image.fromarray(pixels.permute(1, 2, 0).numpy()).save(file, "PNG")
    return file.getvalue()


def _open(data: bytes, most_pixels: int) -> tuple[Image.Image, int, tuple[str, ...]]:
    """An image of which only the header was read, its orientation, and notes."""
    with _header, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd metadata is no reason to refuse a photo
        try:
            image = Image.open(BytesIO(data), formats=FORMATS)
        except Image.DecompressionBombError as bomb:
            raise ImageTooLarge(
                f"the image has far more pixels than the {most_pixels:,} that are read: "
                "scale it down"
            ) from bomb
        except BROKEN as unknown:
            raise NotAnImage(
                "the file is not an image that can be read, or it breaks off in its header; "
                f"send one of {', '.join(FORMATS)}"
            ) from unknown
        width, height = image.size
        if width * height > most_pixels:
            raise ImageTooLarge(
                f"the image has {width:,} × {height:,} pixels; at most {most_pixels:,} are read: "
                "scale it down"
            )
        orientation = 1
        with suppress(*BROKEN):
            orientation = image.getexif().get(ORIENTATION, 1)
        animated = image.format != "MPO" and getattr(image, "is_animated", False)
    kind = "page" if image.format == "TIFF" else "frame of the animation"
    return image, orientation, (f"only the first {kind} was used",) if animated else ()


def _flatten(image: Image.Image, longest: int | None, orientation: int) -> Image.Image:
    """Upright sRGB without transparency, shrunk where it is too long."""
    profile = image.info.get("icc_profile")
    image = _without_alpha(image)
    if longest and max(image.size) > longest:
        scale = longest / max(image.size)
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=3.0)
    image = _to_srgb(image, profile)
    return image.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else image


def _without_alpha(image: Image.Image) -> Image.Image:
    """The image in a mode that resizes well: L, RGB or CMYK."""
    if image.mode.startswith("I"):  # 16 bits: scaled, where Pillow's own convert would clip
        return Image.fromarray(np.clip(np.asarray(image) / 257.0 + 0.5, 0, 255).astype(np.uint8))
    if image.mode in ("L", "RGB", "CMYK"):
        return image if "transparency" not in image.info else _over_white(image)
    return _over_white(image) if image.has_transparency_data else image.convert("RGB")


def _over_white(image: Image.Image) -> Image.Image:
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Colours as a screen shows them; a profile that makes no sense is passed over."""
    if profile and image.mode != "L":
        with suppress(ImageCms.PyCMSError, *BROKEN):
            source = ImageCms.ImageCmsProfile(BytesIO(profile))
            target = ImageCms.createProfile("sRGB")
            converted = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
            assert converted is not None
            return converted
    return image.convert("RGB")
