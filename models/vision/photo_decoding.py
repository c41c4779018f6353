"""Decoding of untrusted photo files, their cost counted first; imports no torch."""

from __future__ import annotations

import struct
import warnings
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms

from models.vision import jpeg_scans

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
MOST_BYTES = 32 * 2**20
MOST_PIXELS = 64 * 10**6
MOST_PASSES = 20  # scans of a JPEG with as many pixels as are read; a smaller one may have more
DISPLAY_SIDE = 1280
DISPLAY_QUALITY = 90
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
NO_END = "the JPEG breaks off before its end marker; no pixels are missing"
FILLER = b"\x55" * 4096  # a substitute for data that may be missing

Pixels = NDArray[np.uint8]
_header = Lock()  # Pillow's limit and Python's warning filters belong to the whole process


class ImageError(ValueError):
    """Bytes without a usable photo; the message names the remedy."""


class NotAnImage(ImageError):
    """Bytes in an unknown format."""


class ImageTooLarge(ImageError):
    """More bytes, pixels or scans than allowed."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """An upright sRGB photo: pixels (height, width, 3), and notes on omissions."""

    pixels: Pixels
    notes: tuple[str, ...] = ()


def decode(
    data: bytes,
    *,
    most_bytes: int = MOST_BYTES,
    most_pixels: int = MOST_PIXELS,
    longest: int | None = None,
) -> Decoded:
    """The photo in a file's bytes, with a limit of size.

    Its long side has at most `longest` pixels.

    Limits hold before anything is decoded. Transparency is laid over white, the first frame of an
    animation is taken. Raises ImageTooLarge, NotAnImage, and ImageError for a broken file.
    """
    if len(data) > most_bytes:
        raise too_many_bytes(len(data), most_bytes)
    count, whole = jpeg_scans.scans(data) if data.startswith(jpeg_scans.START) else (0, True)
    file = _File.open(data if whole else data + jpeg_scans.END, most_pixels)
    _check_scans(count, file.image.size, most_pixels)
    decoded = file.decode(longest)
    if whole:
        return decoded
    filled = _File.open(data + FILLER + jpeg_scans.END, most_pixels).decode(longest)
    if not np.array_equal(decoded.pixels, filled.pixels):
        raise _broken(file.form, "data is missing at its end")
    return Decoded(decoded.pixels, (*decoded.notes, NO_END))


def too_many_bytes(size: int, most: int) -> ImageTooLarge:
    """The error for a file with too many bytes."""
    return ImageTooLarge(f"the image has {size:,} bytes; send one of at most {most:,} bytes")


def display_jpeg(pixels: Pixels) -> bytes:
    """Pixels (height, width, 3) as the JPEG to keep: long side at most DISPLAY_SIDE."""
    image = Image.fromarray(pixels)
    image.thumbnail((DISPLAY_SIDE, DISPLAY_SIDE), Image.Resampling.LANCZOS, reducing_gap=GAP)
    file = BytesIO()
    image.save(file, "JPEG", quality=DISPLAY_QUALITY)
    return file.getvalue()


def png(pixels: Pixels) -> bytes:
    """Pixels (height, width, 3) as a PNG file's bytes."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class _File:
    """An image with only its header read, its orientation, and notes."""

    image: Image.Image
    form: str
    orientation: int
    notes: tuple[str, ...]

    @classmethod
    def open(cls, data: bytes, most_pixels: int) -> _File:
        with _header, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata is no reason to refuse a photo
            image = _open(data, most_pixels)
            _check_size(image.size, most_pixels)
            orientation = 1
            with suppress(*BROKEN):
                orientation = image.getexif().get(ORIENTATION, 1)
            form = image.format or ""
            animated = form != "MPO" and getattr(image, "is_animated", False)
        kind = "page" if form == "TIFF" else "frame of the animation"
        notes = (f"only the first {kind} was used",) if animated else ()
        return cls(image, form, orientation, notes)

    def decode(self, longest: int | None) -> Decoded:
        image = self.image
        try:
            if longest:  # a JPEG can be decoded at a fraction of its size
                image.draft("RGB", (longest, longest))
            image.load()
            image, notes = _in_bytes(image)
            upright = _flatten(image, longest, self.orientation)
        except ImageError:
            raise
        except MemoryError as short:
            raise ImageTooLarge(
                f"the {self.form} file takes more memory to decode than there is; scale it down"
            ) from short
        except BROKEN as broken:
            raise _broken(self.form, broken) from broken
        return Decoded(np.array(upright), (*self.notes, *notes))


def _open(data: bytes, most_pixels: int) -> Image.Image:
    try:
        return Image.open(BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError as bomb:
        raise ImageTooLarge(
            f"the image has far more pixels than the {most_pixels:,} that are read: scale it down"
        ) from bomb
    except BROKEN as unknown:
        raise NotAnImage(
            "the file is not an image that can be read, or it breaks off in its header; "
            f"send one of {', '.join(FORMATS)}"
        ) from unknown


def _check_size(size: tuple[int, int], most_pixels: int) -> None:
    width, height = size
    if width * height > most_pixels:
        raise ImageTooLarge(
            f"the image has {width:,} × {height:,} pixels; at most {most_pixels:,} are read: "
            "scale it down"
        )


def _check_scans(scans: int, size: tuple[int, int], most_pixels: int) -> None:
    width, height = size
    most = MOST_PASSES * most_pixels // max(1, width * height)
    if scans > most:
        raise ImageTooLarge(
            f"the JPEG has {width:,} × {height:,} pixels in {scans:,} scans; at most {most:,} "
            "scans of that size are read: save it again"
        )


def _broken(form: str, reason: object) -> ImageError:
    return ImageError(
        f"the {form} file is truncated or broken and cannot be decoded ({reason}); "
        "send a complete file"
    )


def _in_bytes(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """An image of 32-bit numbers stretched to bytes; others as they are.

    The file does not say their meaning; any other scale would show many of them black.
    """
    if image.mode not in ("I", "F"):
        return image, ()
    values = np.asarray(image)
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(low + high):
        raise ImageError("the image has pixels that are no numbers; send one with 8 or 16 bits")
    scale = 255 / (high - low) if high > low else 0.0
    stretched = np.empty(values.shape, np.uint8)
    for top in range(0, len(values), STRIP):
        rows = slice(top, top + STRIP)
        stretched[rows] = (values[rows].astype(np.float64) - low) * scale + 0.5
    note = f"its values, from {low:g} to {high:g}, were stretched from black to white"
    return Image.fromarray(stretched), (note,)


def _flatten(image: Image.Image, longest: int | None, orientation: int) -> Image.Image:
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

    Its mode resizes well.

    It goes strip by strip: a copy of a large photo with alpha is 256 MB.
    """
    if factor < 2 or _is_plain(image):
        return _without_alpha(image)
    width, height = image.size
    strips = [
        _without_alpha(image.crop((0, top, width, min(height, top + STRIP * factor)))).reduce(
            factor
        )
        for top in range(0, height, STRIP * factor)
    ]
    reduced = Image.new(strips[0].mode, (strips[0].width, sum(strip.height for strip in strips)))
    top = 0
    for strip in strips:
        reduced.paste(strip, (0, top))
        top += strip.height
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
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _to_srgb(image: Image.Image, profile: Any) -> Image.Image:
    """The image in sRGB; a broken profile is ignored."""
    if profile and image.mode != "L":
        with suppress(ImageCms.PyCMSError, *BROKEN):
            source = ImageCms.ImageCmsProfile(BytesIO(profile))
            target = ImageCms.createProfile("sRGB")
            converted = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
            assert converted is not None
            return converted
    return image.convert("RGB")
