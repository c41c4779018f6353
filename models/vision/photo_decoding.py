"""Decoding of untrusted photo files, their cost counted first; imports no torch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from threading import RLock

import numpy as np
import pi_heif
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from models.vision import jpeg_scans, png_chunks
from models.vision.upright import BROKEN, GAP, flatten, read_orientation

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "HEIF")
SEVERAL = ("MPO", "HEIF")  # files of several pictures, of which the first or main one counts
UNSURE = ("TIFF", "BMP")  # raw files of cameras begin as one, and texts may as the other
MOST_BYTES = 32 * 2**20
FOOTAGE_BYTES = 2**34  # of a raw file or a video: only a small part of it is read
MOST_PIXELS = 64 * 10**6
MOST_PASSES = 20  # scans of a JPEG with as many pixels as are read; a smaller one may have more
DISPLAY_SIDE = 1280
DISPLAY_QUALITY = 90
THUMBNAIL_QUALITY = 75
STRIP = 64  # rows that are stretched together

NO_END = "the JPEG breaks off before its end marker; no pixels are missing"
FILLER = b"\x55" * 4096  # a substitute for data that may be missing

Pixels = NDArray[np.uint8]
_header = RLock()  # Pillow's limit and Python's warning filters belong to the whole process


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

    Limits hold before anything is decoded. Transparency is laid over white, of an animation the
    first frame is taken. Raises ImageTooLarge, NotAnImage, and ImageError for a broken file.
    """
    if len(data) > most_bytes:
        raise too_many_bytes(len(data), most_bytes)
    if data.startswith(png_chunks.START):
        return _File.open(*png_chunks.strip(data), most_pixels).decode(longest)
    count, whole = jpeg_scans.scans(data) if data.startswith(jpeg_scans.START) else (0, True)
    file = _File.open(data if whole else data + jpeg_scans.END, (), most_pixels)
    _check_scans(count, file.image.size, most_pixels)
    decoded = file.decode(longest)
    if whole:
        return decoded
    filled = _File.open(data + FILLER + jpeg_scans.END, (), most_pixels).decode(longest)
    if not np.array_equal(decoded.pixels, filled.pixels):
        raise _broken(file.form, "data is missing at its end")
    return Decoded(decoded.pixels, (*decoded.notes, NO_END))


def open_header(data: bytes, most_pixels: int = MOST_PIXELS) -> Image.Image:
    """The image of a file, with only its header read.

    Errors are those of `decode`.
    """
    whole = png_chunks.strip(data)[0] if data.startswith(png_chunks.START) else data
    return _File.open(whole, (), most_pixels).image


def is_photo(head: bytes) -> bool:
    """Whether a file's first 16 bytes are surely those of a photo."""
    _register()
    accepts = (Image.OPEN[form][1] for form in FORMATS if form not in UNSURE)
    return any(accept is not None and bool(accept(head)) for accept in accepts)


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


def thumbnail_webp(jpeg: bytes, side: int) -> bytes:
    """A JPEG as a small WebP file's bytes: at most `side` pixels."""
    image = Image.open(BytesIO(jpeg), formats=("JPEG",))
    image.draft("RGB", (side, side))
    image.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=GAP)
    file = BytesIO()
    image.save(file, "WEBP", quality=THUMBNAIL_QUALITY, method=2)  # 4 takes twice as long
    return file.getvalue()


def png(pixels: Pixels) -> bytes:
    """Pixels (height, width, 3) as a PNG file's bytes."""
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class _File:
    """An image with only its header read, and notes."""

    image: Image.Image
    form: str
    notes: tuple[str, ...]

    @classmethod
    def open(cls, data: bytes, notes: tuple[str, ...], most_pixels: int) -> _File:
        with ignore_warnings():
            image = _open(data, most_pixels)
            _check_size(image.size, most_pixels)
            form = image.format or ""
            animated = form not in SEVERAL and getattr(image, "is_animated", False)
        kind = "page" if form == "TIFF" else "frame of the animation"
        notes += (f"only the first {kind} was used",) if animated else ()
        return cls(image, form, notes)

    def decode(self, longest: int | None) -> Decoded:
        image = self.image
        try:
            if longest:  # a JPEG can be decoded at a fraction of its size
                image.draft("RGB", (longest, longest))
            image.load()
            with ignore_warnings():
                orientation = read_orientation(image)
            image, notes = _in_bytes(image)
            upright = flatten(image, longest, orientation)
        except ImageError:
            raise
        except MemoryError as short:
            raise ImageTooLarge(
                f"the {self.form} file takes more memory to decode than there is; scale it down"
            ) from short
        except BROKEN as broken:
            raise _broken(self.form, broken) from broken
        return Decoded(np.array(upright), (*self.notes, *notes))


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Odd metadata is no reason to refuse a photo."""
    with _header, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@lru_cache(maxsize=1)
def _register() -> None:
    """Load Pillow's plugins, and HEIF's."""
    Image.init()
    pi_heif.register_heif_opener(
        thumbnails=False, depth_images=False, aux_images=False, decode_threads=1
    )


def _open(data: bytes, most_pixels: int) -> Image.Image:
    _register()
    PngImagePlugin.MAX_TEXT_CHUNK = png_chunks.LARGEST  # of the whole process
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
        f"the {form} file is truncated or broken and cannot be decoded ({str(reason).strip()}); "
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
