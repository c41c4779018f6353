"""Raw files of cameras: their embedded preview, or a quick development."""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import rawpy
from PIL import Image

from models.vision import photo_decoding
from models.vision.photo_decoding import Decoded, ImageError, ImageTooLarge, Pixels
from models.vision.upright import BROKEN, read_orientation

TURNS = {3: 2, 5: 1, 6: 3}  # LibRaw's flips as quarter turns to the left
SMALLEST = 400  # pixels of the long side of a preview; below, the file is developed
NO_PREVIEW = "the raw file has no preview, and was developed with its white balance"
DETAILS = (*BROKEN, rawpy.LibRawError)


@dataclass(frozen=True, slots=True)
class RawPhoto:
    """A raw file's photo, its upright size, and its preview's bytes."""

    photo: Decoded
    width: int
    height: int
    preview: bytes = b""


def read_raw(file: BinaryIO, most_pixels: int, longest: int) -> RawPhoto:
    """Read a raw file's photo, of at most `longest` pixels a side.

    Raises ImageTooLarge, and ImageError for a broken file or an unknown camera.
    """
    try:
        with rawpy.imread(file) as raw:
            return _read(raw, most_pixels, longest)
    except MemoryError as short:
        raise ImageTooLarge("the raw file takes more memory than there is") from short
    except ImageError:
        raise
    except DETAILS as broken:
        raise ImageError(
            f"the raw file is broken or of an unknown camera ({_explain(broken)}); export it as a "
            "JPEG"
        ) from broken


def _explain(broken: Exception) -> str:
    """Return an error's text; LibRaw gives bytes."""
    text = broken.args[0] if broken.args else ""
    return text.decode(errors="replace") if isinstance(text, bytes) else str(broken)


def _read(raw: rawpy.RawPy, most_pixels: int, longest: int) -> RawPhoto:
    sizes = raw.sizes
    if sizes.iwidth * sizes.iheight > most_pixels:
        raise ImageTooLarge(
            f"the raw file has {sizes.iwidth:,} × {sizes.iheight:,} pixels; at most "
            f"{most_pixels:,} are read: export it as a smaller JPEG"
        )
    sides = (sizes.iwidth, sizes.iheight)
    width, height = sides[::-1] if sizes.flip in (5, 6) else sides
    preview = _extract_preview(raw)
    if preview:
        try:
            return RawPhoto(
                _decode(preview, sizes.flip, most_pixels, longest), width, height, preview
            )
        except ImageTooLarge:
            raise
        except ImageError:  # the raw data may be whole
            pass
    return RawPhoto(Decoded(_develop(raw, longest), (NO_PREVIEW,)), width, height)


def _extract_preview(raw: rawpy.RawPy) -> bytes:
    """Return the JPEG of a preview of use; empty without one."""
    try:
        thumbnail = raw.extract_thumb()
    except DETAILS:
        return b""
    if thumbnail.format != rawpy.ThumbFormat.JPEG or not isinstance(thumbnail.data, bytes):
        return b""
    try:
        size = photo_decoding.open_header(thumbnail.data).size
    except ImageError:
        return b""
    return thumbnail.data if max(size) >= SMALLEST else b""


def _decode(preview: bytes, flip: int, most_pixels: int, longest: int) -> Decoded:
    """Decode a preview, turned by its own EXIF or the raw file."""
    decoded = photo_decoding.decode(
        preview, most_bytes=len(preview), most_pixels=most_pixels, longest=longest
    )
    if read_orientation(photo_decoding.open_header(preview)) != 1:
        return decoded
    return Decoded(
        np.ascontiguousarray(np.rot90(decoded.pixels, TURNS.get(flip, 0))), decoded.notes
    )


def _develop(raw: rawpy.RawPy, longest: int) -> Pixels:
    image = Image.fromarray(raw.postprocess(half_size=True, use_camera_wb=True, output_bps=8))
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return np.array(image)
