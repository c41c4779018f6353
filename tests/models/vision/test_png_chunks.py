"""A PNG's picture counts, not the chunks next to it."""

from __future__ import annotations

import os
import struct
import zlib
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from models.vision.photo_decoding import ImageError, decode
from models.vision.png_chunks import NO_PROFILE


def photo() -> Image.Image:
    rows, columns = np.mgrid[0:40, 0:60]
    return Image.fromarray(np.stack([rows * 6, columns * 4, rows + columns], 2).astype(np.uint8))


def encoded(image: Image.Image | None = None, **options: Any) -> bytes:
    file = BytesIO()
    (image or photo()).save(file, "PNG", **options)
    return file.getvalue()


def noise() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8))


def chunk(kind: bytes, data: bytes, checksum: int | None = None) -> bytes:
    body = kind + data
    right = zlib.crc32(body) if checksum is None else checksum
    return struct.pack(">I", len(data)) + body + struct.pack(">I", right)


def with_chunk(extra: bytes, data: bytes) -> bytes:
    """A PNG with one more chunk behind its header."""
    return data[:33] + extra + data[33:]


def pillow_reads(data: bytes) -> bool:
    try:
        Image.open(BytesIO(data)).load()
    except (OSError, SyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize("animated", [False, True])
def test_a_photo_that_pillow_alone_refuses_is_refused(animated: bool) -> None:
    others = {"save_all": True, "append_images": [photo()]} if animated else {}
    whole, refused = encoded(noise(), **others), 0
    start = whole.index(b"IDAT") + 4
    end = start + int.from_bytes(whole[start - 8 : start - 4], "big")
    for place in range(start, end, 23):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        if not pillow_reads(bytes(damaged)):
            refused += 1
            with pytest.raises(ImageError, match="truncated or broken"):
                decode(bytes(damaged))
    assert refused > 20


def test_a_photo_whose_orientation_comes_behind_its_pixels_is_turned() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(exif=exif)
    start = data.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(data[start : start + 4], "big")
    behind = data[:start] + data[end:-12] + data[start:end] + data[-12:]
    assert decode(data).pixels.shape == decode(behind).pixels.shape == (60, 40, 3)


TEXT = zlib.compress(bytes(3 * 2**20))


@pytest.mark.parametrize(
    "extra",
    [
        chunk(b"zTXt", b"Comment\0\0" + TEXT),
        chunk(b"iTXt", b"Comment\0\1\0\0\0" + TEXT),
        chunk(b"tEXt", b"Comment\0words", checksum=7),
        chunk(b"pHYs", b"short"),
        chunk(b"tIME", b"", checksum=7),
        chunk(b"eXIf", b"MM", checksum=7),
    ],
    ids=["zTXt", "iTXt", "checksum", "pHYs", "tIME", "eXIf"],
)
def test_texts_and_broken_metadata_are_left_out(extra: bytes) -> None:
    read = decode(with_chunk(extra, encoded()))
    assert (read.pixels == np.array(photo())).all()
    assert read.notes == ()


def test_a_profile_of_some_megabytes_is_used() -> None:
    assert PngImagePlugin.MAX_TEXT_CHUNK >= 2**20
    large = chunk(b"iCCP", b"grey\0\0" + zlib.compress(os.urandom(2 * 2**20)))
    read = decode(with_chunk(large, encoded()))
    assert read.pixels.shape == (40, 60, 3)
    assert read.notes == ()


@pytest.mark.parametrize(
    "extra",
    [
        chunk(b"iCCP", b"bomb\0\0" + zlib.compress(bytes(2**24 + 1))),
        chunk(b"iCCP", b"broken\0\0no data"),
        chunk(b"iCCP", b"checksum\0\0" + zlib.compress(b""), checksum=7),
    ],
    ids=["too large", "broken", "checksum"],
)
def test_a_profile_that_cannot_be_read_is_left_out_with_a_note(extra: bytes) -> None:
    read = decode(with_chunk(extra, encoded()))
    assert (read.pixels == np.array(photo())).all()
    assert read.notes == (NO_PROFILE,)
