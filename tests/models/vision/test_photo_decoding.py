"""A photo's cost is known before decoding; odd files are named."""

from __future__ import annotations

import re
import struct
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

from models.vision import jpeg_scans
from models.vision.photo_decoding import NO_END, ImageError, ImageTooLarge, decode, is_photo


def encoded(image: Image.Image, form: str = "JPEG", **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    shape = height, width, len(mode)
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, shape, np.uint8), mode)


def with_scans(data: bytes, count: int) -> bytes:
    """A progressive JPEG with a repeated last scan."""
    starts = [found.start() for found in re.finditer(b"\xff\xda", data)]
    last = data[starts[-1] : -2]
    return data[:-2] + last * (count - len(starts)) + jpeg_scans.END


@pytest.mark.parametrize("progressive", [False, True])
def test_scans_are_counted_as_they_are_sent(progressive: bool) -> None:
    thumbnail = encoded(noise(16, 16))  # a JPEG in the metadata of another is not its scan
    data = encoded(noise(64, 48), progressive=progressive, exif=b"Exif\0\0" + thumbnail)
    assert jpeg_scans.scans(data) == (10 if progressive else 1, True)
    assert jpeg_scans.scans(data[:-2]) == (10 if progressive else 1, False)


def test_many_scans_of_many_pixels_are_refused_and_of_few_are_read() -> None:
    data = with_scans(encoded(noise(200, 100), progressive=True), 300)
    assert jpeg_scans.scans(data) == (300, True)
    with pytest.raises(ImageTooLarge, match="200 × 100 pixels in 300 scans; at most 299 scans"):
        decode(data, most_pixels=299 * 1000)
    assert decode(data, most_pixels=300 * 1000).pixels.shape == (100, 200, 3)


@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_without_its_last_two_bytes_is_read_with_a_note(progressive: bool) -> None:
    data = encoded(noise(200, 100), progressive=progressive)
    cut = decode(data[:-2])
    assert cut.pixels.tolist() == decode(data).pixels.tolist()
    assert cut.notes == (NO_END,)


@pytest.mark.parametrize("missing", [50, 5000])
def test_jpeg_of_which_pixels_are_missing_is_refused(missing: int) -> None:
    with pytest.raises(ImageError, match="the JPEG file is truncated"):
        decode(encoded(noise(200, 100))[:-missing])


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_pixels_of_32_bits_are_stretched_from_black_to_white(kind: type) -> None:
    values = np.array([[-10, 0], [5, 10]], dtype=kind)
    decoded = decode(encoded(Image.fromarray(values), "TIFF"))
    assert decoded.pixels[:, :, 0].tolist() == [[0, 128], [191, 255]]
    assert decoded.notes == ("its values, from -10 to 10, were stretched from black to white",)


def test_pixels_that_are_no_numbers_are_refused() -> None:
    values = np.array([[0, np.nan]], dtype=np.float32)
    with pytest.raises(ImageError, match="no numbers"):
        decode(encoded(Image.fromarray(values), "TIFF"))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_large_photos_with_alpha_are_reduced_strip_by_strip(mode: str) -> None:
    image = noise(900, 700, "RGBA").resize((90, 70)).resize((900, 700), Image.Resampling.BICUBIC)
    image = image.convert(mode)
    in_strips = decode(encoded(image, "PNG"), longest=100).pixels.astype(int)
    whole = decode(encoded(image, "PNG")).pixels
    at_once = Image.fromarray(whole).resize((100, 78), Image.Resampling.LANCZOS)
    assert in_strips.shape == (78, 100, 3)
    assert np.abs(in_strips - np.array(at_once)).mean() < 3


def linear_grey() -> bytes:
    """An ICC profile of grey in proportion to light (ICC.1:2001-04)."""
    white = b"XYZ \0\0\0\0" + struct.pack(">iii", 63190, 65536, 54061)
    text = b"text\0\0\0\0none\0\0\0\0"
    parts = {b"wtpt": white, b"kTRC": b"curv" + bytes(8), b"cprt": text}
    table, body = struct.pack(">I", len(parts)), b""
    for tag, data in parts.items():
        table += struct.pack(">4sII", tag, 132 + 12 * len(parts) + len(body), len(data))
        body += data
    signs = b"acsp" + bytes(28) + struct.pack(">iii", 63190, 65536, 54061) + bytes(48)
    kind = b"mntrGRAYXYZ " + bytes(12)
    size = struct.pack(">I4sI", 128 + len(table + body), b"lcms", 0x02100000)
    return size + kind + signs + table + body


@pytest.mark.parametrize(
    ("form", "mode"),
    [("JPEG", "L"), ("PNG", "L"), ("PNG", "LA"), ("PNG", "I;16"), ("TIFF", "L"), ("TIFF", "I;16")],
)
def test_profiles_of_grey_photos_are_used(form: str, mode: str) -> None:
    values = np.full((8, 8), 100 * 257 if mode == "I;16" else 100, np.uint16)
    image = Image.fromarray(values if mode == "I;16" else values.astype(np.uint8))
    image = image if mode == "I;16" else image.convert(mode)
    pixels = decode(encoded(image, form, icc_profile=linear_grey())).pixels
    assert abs(pixels.astype(int) - 168).max() <= 2  # the sRGB value of 39 % of white's light


def test_a_profile_of_colours_leaves_a_grey_photo_as_it_is() -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    image = Image.new("L", (8, 8), 100)
    assert (decode(encoded(image, "PNG", icc_profile=profile)).pixels == 100).all()


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF", "AVIF"])
def test_photos_are_known_by_their_first_bytes(form: str) -> None:
    assert is_photo(encoded(noise(9, 9), form)[:16])


def test_phones_photos_are_known_by_their_first_bytes() -> None:
    assert is_photo(b"\0\0\0\x18ftypheic\0\0\0\0")


@pytest.mark.parametrize(
    "head",
    [b"", b"BM, they said.", b"II*\0\x10\0\0\0CR\x02\0", b"\0\0\0\x18ftypqt  \0\0\0\0", b"<svg "],
    ids=["empty", "text", "raw", "video", "SVG"],
)
def test_what_is_surely_no_photo_is_not_taken_for_one(head: bytes) -> None:
    assert not is_photo(head)
