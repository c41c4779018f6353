"""Pictures with known words: signs, screenshots of phones and of desktops."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from app.drawing.lettering import FONT

SIGNS = ("EXIT", "NOTAUSGANG", "Café Lüdke", "Sortie", "Gate 23", "OPEN 24", "São Bento", "Kiosk")
TEXT = (
    "account address airport amount August balance battery bicycle boarding booking bridge "
    "camera Chemnitz coffee concert contact delivery Dresden dinner doctor Düsseldorf English "
    "express February flight forecast Garten garage grocery guitar harbour holiday hospital "
    "invoice island Jahr journey kitchen Köln ladder laptop library Lisboa luggage Málaga "
    "market meeting message mountain museum network notebook October office opening orange "
    "parcel parking passport payment piano platform police printer Quebec railway receipt "
    "recipe reference reminder rental report river sandwich Sunday ticket umbrella update "
    "village voucher Wednesday weather window Zürich"
)
WORDS = TEXT.split()


@dataclass(frozen=True, slots=True)
class PictureWithText:
    """A picture, its name, and its words in order."""

    name: str
    image: Image.Image
    words: tuple[str, ...]

    def write(self) -> bytes:
        """Return its file: JPEG for a photo, PNG for a screenshot."""
        file = BytesIO()
        self.image.save(file, "JPEG" if self.name.endswith("jpg") else "PNG", quality=90)
        return file.getvalue()


def draw_sign(
    words: str, photo: Image.Image, share: float, number: int = 0, font: Path = FONT
) -> PictureWithText:
    """Draw a sign with letters of a share of a photo's height."""
    image = photo.convert("RGB").copy()
    letters = ImageFont.truetype(str(font), max(8, round(share * image.height)))
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = draw.textbbox((image.width // 5, image.height // 3), words, letters)
    rim = letters.size // 3
    draw.rectangle((left - rim, top - rim, right + rim, bottom + rim), fill=(0, 90, 60))
    draw.text((image.width // 5, image.height // 3), words, "white", letters)
    return PictureWithText(f"IMG_{number:04}.jpg", image, tuple(words.split()))


def draw_screenshot(
    seed: int,
    size: tuple[int, int],
    height: int,
    lines: int,
    font: Path = FONT,
) -> PictureWithText:
    """Draw a screenshot with lines of words; every other one is dark.

    The letters have a height in pixels.
    """
    chance = random.Random(seed)
    paper, ink = ((24, 24, 28), (225, 225, 225)) if seed % 2 else ((250, 250, 250), (30, 30, 30))
    image = Image.new("RGB", size, paper)
    draw, letters = ImageDraw.Draw(image), ImageFont.truetype(str(font), height)
    words = list[str]()
    for line in range(lines):
        text = _fill(chance, letters, size[0] * 0.85)
        draw.text((size[0] * 0.05, (2 + 1.8 * line) * height), " ".join(text), ink, letters)
        words += text
    name = f"Screenshot_202601{1 + seed % 28:02}-{seed // 28 % 24:02}1010.png"
    return PictureWithText(name, image, tuple(words))


def _fill(chance: random.Random, letters: ImageFont.FreeTypeFont, width: float) -> Sequence[str]:
    text = [chance.choice(WORDS)]
    while letters.getlength(" ".join([*text, longer := chance.choice(WORDS)])) < width:
        text.append(longer)
    return text


def draw_kinds(photos: Path, each: int, font: Path) -> dict[str, list[PictureWithText]]:
    """Draw pictures of all kinds; signs stand on photos of a folder."""
    files = sorted(photos.glob("*.jpg"))
    grounds = [Image.open(files[at % len(files)]).resize((2400, 1800)) for at in range(each)]
    phone, desktop = (1080, 2340), (2560, 1440)
    kinds = {
        f"sign, letters {share:.1%} of the height": [
            draw_sign(SIGNS[at % len(SIGNS)], ground, share, at, font)
            for at, ground in enumerate(grounds)
        ]
        for share in (0.1, 0.04, 0.02, 0.01)
    }
    for height, lines in ((48, 20), (32, 35)):
        kinds[f"phone, letters of {height} pixels"] = [
            draw_screenshot(at, phone, height, lines, font) for at in range(each)
        ]
    for height, lines in ((24, 25), (16, 40)):
        kinds[f"desktop, letters of {height} pixels"] = [
            draw_screenshot(at, desktop, height, lines, font) for at in range(each)
        ]
    return kinds
