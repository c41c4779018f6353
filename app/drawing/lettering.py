"""Lettering of pictures: fonts, the widths of texts, and inks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from PIL import ImageColor, ImageFont

INK, PAPER = "#1c1c1c", "#ffffff"
FONT = Path(__file__).with_name("Aileron-Regular.ttf")  # Latin letters, in the public domain
WIDE_FONTS = {
    "DejaVu Sans": "DejaVuSans.ttf",
    "Noto Sans": "NotoSans-Regular.ttf",
    "Arial": "Arial.ttf",
}


def printable(text: str) -> str:
    """Replace each unprintable character by a space.

    So spans stay valid.
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def is_plain(text: str) -> bool:
    """Return whether Tessera's font has all characters; other texts use system fonts."""
    return text.replace("…", "").isascii()


@lru_cache
def _font(size: int, *, plain: bool) -> ImageFont.FreeTypeFont:
    for name in () if plain else WIDE_FONTS.values():
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.truetype(FONT, size)


def families(text: str) -> str:
    """List the font families of a text as CSS.

    The first one measures it.
    """
    fonts = ("Aileron", "Helvetica", "Arial") if is_plain(text) else WIDE_FONTS
    return ", ".join((*fonts, "sans-serif"))


def text_width(text: str, size: int) -> float:
    """Measure the width of a text."""
    return _font(size, plain=is_plain(text)).getlength(text)


def shorten(text: str, size: int, room: float) -> str:
    """Shorten a text to a width, with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip(" ,") + "…"


def ink_on(colour: str) -> str:
    """Choose black or white for a colour by WCAG 2's relative luminance."""
    red, green, blue = ((part / 255) ** 2.2 for part in ImageColor.getrgb(colour)[:3])
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2 else PAPER


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle; its stroke grows inward."""

    left: float
    top: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    thickness: int = 0

    @property
    def right(self) -> float:
        """The edge past the last pixel."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The edge past the last pixel."""
        return self.top + self.height

    def overlap(self, other: Rect) -> float:
        """Compute the area of the intersection."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)

    def outline(self, grown: float, stroke: str, thickness: int) -> Rect:
        """Return an outline at a distance of `grown`."""
        width, height = self.width + 2 * grown, self.height + 2 * grown
        return Rect(self.left - grown, self.top - grown, width, height, None, stroke, thickness)


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text."""

    left: float
    baseline: float
    text: str
    size: int
    colour: str


Shape = Rect | TextLine
