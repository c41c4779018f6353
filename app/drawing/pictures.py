"""What does an alignment look like? A photo, its boxes and its sentence as one PNG or SVG."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from io import BytesIO

from PIL import Image, ImageDraw
from torch import Tensor

from app.drawing.bars import DrawnLink
from app.drawing.layout import lay_out
from app.drawing.lettering import PAPER, font_of, printable, text_width
from app.drawing.shapes import Rect, Shape, Text

__all__ = ["DrawnLink", "draw_png", "draw_svg"]


def draw_png(
    pixels: Tensor, sentence: str, links: Sequence[DrawnLink], score: float | None
) -> bytes:
    """The alignment of one photo, uint8 RGB (3, height, width), and one sentence as a PNG file."""
    photo = _photo(pixels)
    layout = lay_out(photo.size, printable(sentence), links, score)
    place = layout.photo
    canvas = Image.new("RGB", (layout.width, layout.height), PAPER)
    resized = photo.resize((int(place.width), int(place.height)), Image.Resampling.LANCZOS)
    canvas.paste(resized, (int(place.left), int(place.top)))
    pen = ImageDraw.Draw(canvas)
    for shape in layout.shapes:
        _paint(pen, shape)
    return _file(canvas, "PNG")


def draw_svg(pixels: Tensor, sentence: str, links: Sequence[DrawnLink], score: float | None) -> str:
    """The same picture as one SVG file that refers to nothing outside itself."""
    photo = _photo(pixels)
    layout = lay_out(photo.size, printable(sentence), links, score)
    data = base64.b64encode(_file(photo, "JPEG")).decode("ascii")
    width, height = layout.width, layout.height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        'font-family="Aileron, Helvetica, Arial, sans-serif">',
        f"<title>{escape(printable(sentence))}</title>",
        _svg(Rect(0, 0, width, height, PAPER)),
        f'<image {_place(layout.photo)} preserveAspectRatio="none" '
        f'href="data:image/jpeg;base64,{data}"/>',
        *map(_svg, layout.shapes),
        "</svg>",
    ]
    return "\n".join(lines)


def _photo(pixels: Tensor) -> Image.Image:
    return Image.fromarray(pixels.permute(1, 2, 0).contiguous().cpu().numpy())


def _file(image: Image.Image, form: str) -> bytes:
    file = BytesIO()
    image.save(file, form, quality=90)
    return file.getvalue()


def _paint(pen: ImageDraw.ImageDraw, shape: Shape) -> None:
    if isinstance(shape, Text):
        font = font_of(shape.text, shape.size)
        pen.text((shape.left, shape.baseline), shape.text, shape.colour, font, anchor="ls")
    elif shape.width >= 1 and shape.height >= 1:
        corners = (shape.left, shape.top, shape.right - 1, shape.bottom - 1)
        pen.rectangle(corners, shape.fill, shape.stroke, shape.thickness)


def _svg(shape: Shape) -> str:
    if isinstance(shape, Text):  # textLength keeps the layout where the viewer's font is another
        return (
            f'<text x="{shape.left:g}" y="{shape.baseline:g}" font-size="{shape.size}" '
            f'fill="{shape.colour}" textLength="{text_width(shape.text, shape.size):g}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(shape.text)}</text>'
        )
    if shape.stroke is None:
        return f'<rect {_place(shape)} fill="{shape.fill}"/>'
    inner = shape.outlined(-shape.thickness / 2, shape.stroke, shape.thickness)
    return (  # an SVG stroke straddles its path, ours grows inward
        f'<rect {_place(inner)} fill="none" stroke="{shape.stroke}" '
        f'stroke-width="{shape.thickness}"/>'
    )


def _place(rect: Rect) -> str:
    width, height = max(rect.width, 0), max(rect.height, 0)
    return f'x="{rect.left:g}" y="{rect.top:g}" width="{width:g}" height="{height:g}"'
