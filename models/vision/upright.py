"""Upright sRGB pixels of opened images of any mode."""

from __future__ import annotations

import struct
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image, ImageCms

GAP = 3  # a photo is averaged down to this many times the wanted size, then filtered
STRIP = 64  # rows of the result that are averaged together

# What Pillow raises for files that are broken in one way or another.
BROKEN = (
    *(OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, RuntimeError),
    *(ArithmeticError, AttributeError, AssertionError, MemoryError, struct.error),
)
ORIENTATION = 0x0112  # the EXIF tag, and the inverse of each of its values
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def read_orientation(image: Image.Image) -> int:
    """The EXIF orientation of a loaded image; 1 without one.

    Pillow turns a TIFF while it loads it, and asked before, it would read over damage of a PNG.
    """
    orientation = 1
    with suppress(*BROKEN):
        orientation = image.getexif().get(ORIENTATION, 1)
    return orientation


def flatten(image: Image.Image, longest: int | None, orientation: int) -> Image.Image:
    """Upright sRGB without transparency, shrunk if it is too long."""
    profile = image.info.get("icc_profile")
    image = _reduce(image, max(image.size) // (GAP * longest) if longest else 1)
    if longest and max(image.size) > longest:
        scale = longest / max(image.size)
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=GAP)
    image = _to_srgb(image, profile)
    return image.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else image


def _reduce(image: Image.Image, factor: int) -> Image.Image:
    """The image without alpha, averaged over `factor` squared pixels.

    Its mode resizes well. It goes strip by strip: a copy of a large photo with alpha is 256 MB.
    """
    width, height = image.size
    if factor < 2 or _is_plain(image):
        return _without_alpha(image)
    strips = [
        _without_alpha(image.crop((0, top, width, min(height, top + STRIP * factor)))).reduce(
            factor
        )
        for top in range(0, height, STRIP * factor)
    ]
    reduced = Image.new(strips[0].mode, (strips[0].width, sum(strip.height for strip in strips)))
    for number, strip in enumerate(strips):
        reduced.paste(strip, (0, number * STRIP))
    return reduced


def _is_plain(image: Image.Image) -> bool:
    return image.mode in ("L", "RGB", "CMYK") and "transparency" not in image.info


def _without_alpha(image: Image.Image) -> Image.Image:
    """The image in a mode for resizing: L, RGB or CMYK."""
    if image.mode.startswith("I;16"):  # scaled, where Pillow's own convert would clip
        return Image.fromarray((np.asarray(image) / 257.0 + 0.5).astype(np.uint8))
    if _is_plain(image):
        return image
    return _over_white(image) if image.has_transparency_data else image.convert("RGB")


def _over_white(image: Image.Image) -> Image.Image:
    if image.mode in ("L", "LA"):  # stays grey, as its profile is one of grey
        grey, alpha = image.convert("LA").split()
        return Image.composite(grey, Image.new("L", image.size, 255), alpha)
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _to_srgb(image: Image.Image, profile: Any) -> Image.Image:
    """The image in sRGB; a broken profile is ignored."""
    if profile:
        with suppress(ImageCms.PyCMSError, *BROKEN):
            source = ImageCms.ImageCmsProfile(BytesIO(profile))
            target = ImageCms.createProfile("sRGB")
            converted = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
            assert converted is not None
            return converted
    return image.convert("RGB")
