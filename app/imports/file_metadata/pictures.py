"""Metadata of picture files: EXIF, XMP, IPTC, and the upright size."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from PIL import Image, IptcImagePlugin

from app.imports.file_metadata import dates
from app.imports.file_metadata.exif import read_exif
from app.imports.file_metadata.texts import clean_line, clean_lines, clean_text, decode_text
from app.imports.file_metadata.xmp import read_xmp
from models.vision import photo_decoding
from models.vision.photo_decoding import ignore_warnings
from models.vision.upright import BROKEN, read_orientation

TRANSPOSED = (5, 6, 7, 8)  # orientations of EXIF that swap the sides
TIFF_BEGINS = (b"II", b"MM")
TIFF_MAGIC = {b"II": b"*\0", b"MM": b"\0*"}  # raw files of some makers have another
TITLE, KEYWORDS, DAY, TIME, CITY, REGION, COUNTRY, CAPTION = (
    (2, number) for number in (5, 25, 55, 60, 90, 95, 101, 120)
)
TAKEN = ("taken", "taken_from")
POSITION = ("latitude", "longitude")
Facts = dict[str, Any]


def read_picture(data: bytes, most_pixels: int) -> Facts:
    """Read a picture file's metadata; broken parts are left out."""
    with ignore_warnings(), suppress(*BROKEN):
        return _read_image(photo_decoding.open_header(data, most_pixels))
    return {}


def read_tiff(data: bytes) -> Facts:
    """Read the EXIF of a TIFF's header, as in most raw files."""
    if data[:2] not in TIFF_BEGINS:
        return {}
    exif = Image.Exif()
    with ignore_warnings(), suppress(*BROKEN):
        exif.load(b"Exif\0\0" + data[:2] + TIFF_MAGIC[data[:2]] + data[4:])
        return read_exif(exif)
    return {}


def combine(*sources: Facts) -> Facts:
    """Combine facts: earlier sources win, except over dates of EXIF."""
    facts: Facts = {}
    for source in sources:
        for key, value in source.items():
            if key not in (*TAKEN, *POSITION):
                facts.setdefault(key, value)
        for group in (TAKEN, POSITION):  # belong together
            if group[0] in source and group[0] not in facts:
                facts |= {key: source[key] for key in group if key in source}
    by_exif = (each for each in sources if each.get("taken_from") == "exif")
    return facts | {key: each[key] for each in by_exif for key in TAKEN}


def describe_size(width: int, height: int) -> Facts:
    """Return the size of an upright picture, and its orientation."""
    side = "landscape" if width > height else "portrait" if width < height else "square"
    return {"width": width, "height": height, "orientation": side}


def _read_image(image: Image.Image) -> Facts:
    width, height = image.size
    # Pillow decodes a PNG to look for EXIF behind its pixels, and turns the sides of a TIFF itself.
    has_exif = image.format != "PNG" or "exif" in image.info
    swapped = has_exif and image.format != "TIFF" and read_orientation(image) in TRANSPOSED
    size = describe_size(height, width) if swapped else describe_size(width, height)
    xmp = image.info.get("xmp", b"")
    stated = read_xmp(xmp.encode() if isinstance(xmp, str) else xmp)
    by_exif = Facts()
    with suppress(*BROKEN):
        by_exif = read_exif(image.getexif()) if has_exif else {}
    return combine(stated, _read_iptc(image), by_exif) | size


def _read_iptc(image: Image.Image) -> Facts:
    """Read the captions, keywords and places of IPTC-IIM 4.2."""
    if image.format not in ("JPEG", "MPO", "TIFF"):
        return {}
    blocks: dict[tuple[int, int], Any] = {}
    with suppress(*BROKEN):
        blocks = IptcImagePlugin.getiptcinfo(image) or {}  # type: ignore[arg-type]

    def texts(block: tuple[int, int]) -> list[bytes]:
        value = blocks.get(block, [])
        return value if isinstance(value, list) else [value]

    def first(block: tuple[int, int]) -> str:
        return decode_text(next(iter(texts(block)), b""))

    facts: Facts = {
        "title": clean_line(first(TITLE)),
        "description": clean_text(first(CAPTION)),
        "keywords": clean_lines(texts(KEYWORDS)),
        "city": clean_line(first(CITY)),
        "region": clean_line(first(REGION)),
        "country": clean_line(first(COUNTRY)),
    }
    if taken := _read_iptc_date(first(DAY), first(TIME)):
        facts |= {"taken": taken, "taken_from": "xmp"}  # which took over these fields
    return {key: value for key, value in facts.items() if value}


def _read_iptc_date(day: str, time: str) -> str | None:
    """Read a date such as 20190804 and a time such as 152210+0100."""
    if len(day) != 8 or not day.isdigit():
        return None
    date = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    clock = f"T{time[:2]}:{time[2:4]}:{time[4:6]}{time[6:]}" if len(time) >= 6 else ""
    return dates.read_date(date + clock) or dates.read_date(date)
