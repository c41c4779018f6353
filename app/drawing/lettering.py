"""How a text is drawn: in which font, how wide, and in which ink."""

from __future__ import annotations

from functools import lru_cache

from PIL import ImageColor, ImageFont

INK, PAPER = "#1c1c1c", "#ffffff"
WIDE_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf")


def printable(text: str) -> str:
    """Control characters have no shape and break XML: a space each, so that spans stay true."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


@lru_cache
def _font(size: int, *, plain: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font has little beyond ASCII; other texts take a wider one where there is."""
    for name in () if plain else WIDE_FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def font_of(text: str, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that a text is measured and drawn in."""
    return _font(size, plain=text.replace("…", "").isascii())


def text_width(text: str, size: int) -> float:
    """How wide a text is drawn."""
    return font_of(text, size).getlength(text)


def shortened(text: str, size: int, room: float) -> str:
    """The text, or as much of it as fits followed by an ellipsis."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip(" ,") + "…"


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour (by WCAG 2's relative luminance)."""
    red, green, blue = ((part / 255) ** 2.2 for part in ImageColor.getrgb(colour)[:3])
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2 else PAPER
