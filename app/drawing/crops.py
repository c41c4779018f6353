"""Parts of photos as files: one, or several on a contact sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageOps

from app.telemetry.requests import stage
from models.types import WHOLE_FRAME, Box

JPEG, WEBP = "image/jpeg", "image/webp"
QUALITY = 85
TILE, GAP, COLUMNS = 160, 4, 6  # pixels of a sheet's tiles and between them, and tiles in a row
PAPER = (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Crop:
    """A box of a stored JPEG; None for all of it."""

    jpeg: bytes
    box: Box | None

    def cut(self) -> Image.Image:
        """The pixels in the box, at least one."""
        with Image.open(BytesIO(self.jpeg)) as photo:
            width, height = photo.size
            box = self.box or WHOLE_FRAME
            left, top = (
                min(int(box.left * width), width - 1),
                min(int(box.top * height), height - 1),
            )
            right, bottom = round(box.right * width), round(box.bottom * height)
            part = left, top, max(right, left + 1), max(bottom, top + 1)
            return photo.convert("RGB").crop(part)


def draw_crop(crop: Crop, kind: str) -> bytes:
    """Draw a part of a photo as a JPEG or WebP file."""
    with stage("draw"):
        return _encode(crop.cut(), kind)


def draw_sheet(crops: Sequence[Crop]) -> bytes:
    """Draw parts of photos row by row, as a WebP file."""
    with stage("draw"):
        across, down = min(COLUMNS, len(crops)), -(-len(crops) // COLUMNS)
        size = across * (TILE + GAP) + GAP, down * (TILE + GAP) + GAP
        sheet = Image.new("RGB", size, PAPER)
        for number, crop in enumerate(crops):
            tile = ImageOps.pad(crop.cut(), (TILE, TILE), color=PAPER)
            row, column = divmod(number, COLUMNS)
            sheet.paste(tile, (GAP + column * (TILE + GAP), GAP + row * (TILE + GAP)))
        return _encode(sheet, WEBP)


def shrink(picture: bytes, side: int) -> bytes:
    """Make a WebP file of at most `side` pixels of a picture."""
    with stage("draw"), Image.open(BytesIO(picture)) as image:
        image.thumbnail((side, side))
        return _encode(image.convert("RGB"), WEBP)


def _encode(picture: Image.Image, kind: str) -> bytes:
    file = BytesIO()
    picture.save(file, "WEBP" if kind == WEBP else "JPEG", quality=QUALITY)
    return file.getvalue()
