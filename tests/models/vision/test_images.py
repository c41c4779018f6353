"""Untrusted bytes become upright RGB pixels, or are refused with a reason."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from models.vision.images import decode, display_copy, png
from models.vision.photo_decoding import DISPLAY_SIDE, ImageError, ImageTooLarge, NotAnImage


def encoded(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def gradient(width: int = 40, height: int = 30) -> Image.Image:
    rows, columns = np.mgrid[0:height, 0:width]
    red, green = columns * 255 // (width - 1), rows * 255 // (height - 1)
    return Image.fromarray(np.stack([red, green, 0 * red], axis=2).astype(np.uint8))


def png_header(width: int, height: int) -> bytes:
    """A PNG with a size and almost no data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(b"\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + chunk(b"IEND", b"")


@pytest.mark.parametrize("form", ["PNG", "BMP", "TIFF", "WEBP", "AVIF", "JPEG", "GIF"])
def test_every_format_gives_the_same_picture(form: str) -> None:
    lossless = {"WEBP": {"lossless": True}}.get(form, {"quality": 95})
    photo = decode(encoded(gradient(), form, **lossless))
    assert photo.pixels.shape == (3, 30, 40)
    assert photo.pixels.dtype == torch.uint8
    truth = torch.from_numpy(np.array(gradient())).permute(2, 0, 1)
    assert (photo.pixels.int() - truth.int()).abs().float().mean() < 6
    assert photo.notes == ()


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("L", 200, (200, 200, 200)),
        ("LA", (0, 0), (255, 255, 255)),
        ("RGBA", (255, 0, 0, 0), (255, 255, 255)),
        ("RGBA", (255, 0, 0, 255), (255, 0, 0)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 32896, (128, 128, 128)),  # Pillow's own conversion clips this to white
    ],
)
def test_every_mode_becomes_rgb(mode: str, colour: Any, expected: tuple[int, int, int]) -> None:
    photo = decode(encoded(Image.new(mode, (4, 2), colour)))
    assert photo.pixels[:, 0, 0].tolist() == list(expected)


def test_palette_with_transparency_is_laid_over_white() -> None:
    image = Image.new("P", (2, 1), 0)
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putpixel((1, 0), 1)
    photo = decode(encoded(image, transparency=bytes([255, 0])))
    assert photo.pixels[:, 0].T.tolist() == [[255, 0, 0], [255, 255, 255]]


def test_cmyk_jpeg_keeps_its_colours() -> None:
    photo = decode(encoded(Image.new("RGB", (16, 16), (250, 10, 10)).convert("CMYK"), "JPEG"))
    red, green, blue = photo.pixels.float().mean(dim=(1, 2)).tolist()
    assert red > 200
    assert max(green, blue) < 60


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_undone(orientation: int, form: str) -> None:
    undo = {1: 0, 3: 180, 6: -90, 8: 90}.get(orientation)
    exif = Image.Exif()
    exif[0x0112] = orientation
    photo = decode(encoded(gradient(), form, exif=exif))
    assert tuple(photo.pixels.shape[1:]) == ((30, 40) if orientation < 5 else (40, 30))
    if undo is not None:
        expected = np.array(gradient().rotate(undo, expand=True))
        assert photo.pixels.permute(1, 2, 0).numpy().tolist() == expected.tolist()


def test_profile_is_converted_to_srgb() -> None:
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    same = decode(encoded(gradient(), icc_profile=lab)).pixels.int()
    assert (same - decode(encoded(gradient())).pixels.int()).abs().max() <= 1
    broken = decode(encoded(gradient(), icc_profile=b"no profile"))
    assert broken.pixels.shape == (3, 30, 40)


def test_animation_gives_its_first_frame_and_says_so() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    photo = decode(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert photo.pixels[:, 0, 0].tolist() == [255, 0, 0]
    assert photo.notes == ("only the first frame of the animation was used",)


def test_declared_size_is_refused_before_decoding() -> None:
    with pytest.raises(ImageTooLarge, match="far more pixels than the 64,000,000"):
        decode(png_header(50_000, 50_000))
    with pytest.raises(ImageTooLarge, match=r"100 × 50 pixels; at most 4,999"):
        decode(png_header(100, 50), most_pixels=4_999)


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(ImageTooLarge, match=r"101 bytes; send one of at most 100"):
        decode(b"x" * 101, most_bytes=100)


@pytest.mark.parametrize("data", [b"", b"hello", b"%PDF-1.7", png_header(0, 5), b"\xff\xd8\xff"])
def test_what_is_no_image_is_refused_with_the_formats_that_work(data: bytes) -> None:
    with pytest.raises(NotAnImage, match="JPEG, PNG"):
        decode(data)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_truncated_file_is_refused_by_name(form: str) -> None:
    data = encoded(gradient(200, 200), form)
    with pytest.raises(ImageError, match=f"the {form} file is truncated|not an image"):
        decode(data[: len(data) // 2])


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")  # of odd metadata
@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "GIF", "WEBP", "BMP", "AVIF"])
@given(data=st.data())
@settings(max_examples=15)
def test_damaged_files_decode_or_are_refused(form: str, data: st.DataObject) -> None:
    whole = bytearray(encoded(gradient(), form))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ImageError):
        assert decode(bytes(whole), most_pixels=10**6).pixels.shape[0] == 3


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_long_photo_is_shrunk_and_keeps_its_shape(form: str) -> None:
    photo = decode(encoded(gradient(1000, 300), form), longest=100)
    assert photo.pixels.shape == (3, 30, 100)
    assert decode(encoded(gradient(3000, 1 + 1)), longest=100).pixels.shape == (3, 1, 100)


def test_display_copy_shows_the_pixels_it_gives_and_no_metadata() -> None:
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    copy = display_copy(decode(encoded(gradient(2000, 1000), "JPEG", exif=exif)))
    assert (copy.width, copy.height) == (DISPLAY_SIDE, DISPLAY_SIDE // 2)
    assert torch.equal(decode(copy.jpeg).pixels, copy.pixels)
    assert not Image.open(BytesIO(copy.jpeg)).getexif()


def test_pixels_come_back_from_a_png_as_they_were():
    pixels = decode(encoded(gradient())).pixels
    assert torch.equal(decode(png(pixels)).pixels, pixels)
