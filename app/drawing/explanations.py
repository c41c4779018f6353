"""Pictures of explanations: a photo, boxes, and bars of phrases."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from io import BytesIO

import resvg_py
from PIL import Image
from torch import Tensor

from app.drawing.bars import DrawnLink
from app.drawing.layout import lay_out
from app.drawing.lettering import (
    FONT,
    PAPER,
    Rect,
    Shape,
    TextLine,
    families,
    is_plain,
    printable,
    text_width,
)
from app.engine.groundings import GroundedPhrase
from app.engine.inference import Alignment
from app.telemetry.requests import stage
from models.captions.support import SupportedCaption
from models.types import WHOLE_FRAME, Span

__all__ = ["DrawnLink", "draw_png", "draw_svg"]


def draw_svg(pixels: Tensor, sentence: str, links: Sequence[DrawnLink], score: float | None) -> str:
    """Draw an alignment of a photo, uint8 RGB (3, height, width), as SVG.

    It refers to nothing outside itself.
    """
    photo = _photo(pixels)
    layout = lay_out(photo.size, printable(sentence), links, score)
    data = base64.b64encode(_jpeg(photo)).decode("ascii")
    width, height = layout.width, layout.height
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{escape(printable(sentence))}</title>",
        _svg(Rect(0, 0, width, height, PAPER)),
        f'<image {_place(layout.photo)} preserveAspectRatio="none" '
        f'href="data:image/jpeg;base64,{data}"/>',
        *map(_svg, layout.shapes),
        "</svg>",
    ]
    return "\n".join(lines)


def draw_png(
    pixels: Tensor, sentence: str, links: Sequence[DrawnLink], score: float | None
) -> bytes:
    """The same picture as one PNG file."""
    picture = draw_svg(pixels, sentence, links, score)
    return resvg_py.svg_to_bytes(
        svg_string=picture,
        font_files=[str(FONT)],
        skip_system_fonts=all(is_plain(text) for text in (sentence, *(x.label for x in links))),
    )


def _photo(pixels: Tensor) -> Image.Image:
    return Image.fromarray(pixels.permute(1, 2, 0).contiguous().cpu().numpy())


def _jpeg(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "JPEG", quality=90)
    return file.getvalue()


def _svg(shape: Shape) -> str:
    if isinstance(
        shape, TextLine
    ):  # textLength keeps the layout where the viewer's font is another
        return (
            f'<text x="{shape.left:g}" y="{shape.baseline:g}" font-size="{shape.size}" '
            f'font-family="{families(shape.text)}" '
            f'fill="{shape.colour}" textLength="{text_width(shape.text, shape.size):g}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(shape.text)}</text>'
        )
    if shape.stroke is None:
        return f'<rect {_place(shape)} fill="{shape.fill}"/>'
    outline = shape.outline(-shape.thickness / 2, shape.stroke, shape.thickness)
    return (  # an SVG stroke straddles its path, ours grows inward
        f'<rect {_place(outline)} fill="none" stroke="{shape.stroke}" '
        f'stroke-width="{shape.thickness}"/>'
    )


def _place(rect: Rect) -> str:
    width, height = max(rect.width, 0), max(rect.height, 0)
    return f'x="{rect.left:g}" y="{rect.top:g}" width="{width:g}" height="{height:g}"'


PNG, SVG = "image/png", "image/svg+xml"


@stage("draw")
def draw_alignment(
    pixels: Tensor, text: str, alignment: Alignment, kind: str, words: Sequence[DrawnLink] = ()
) -> bytes:
    """Draw the alignment of a photo, uint8 RGB (3, height, width), and a text.

    `words` of the photo's item add to it.
    """
    links = []
    for phrase in alignment.phrases:
        box = None if phrase.region is None else alignment.image.places[phrase.region]
        assert not isinstance(box, Span)
        links.append(
            DrawnLink(phrase.span, phrase.words(text), box, phrase.similarity, phrase.whole)
        )
    score = alignment.score + sum(word.similarity for word in words)
    return _draw_file(pixels, text, [*links, *words], score, kind)


@stage("draw")
def draw_grounding(
    pixels: Tensor, text: str, grounded: Sequence[GroundedPhrase], kind: str
) -> bytes:
    """Draw the boxes of each phrase, numbered from the second.

    Absent phrases are only written.
    """
    links = [
        DrawnLink(
            phrase.span,
            phrase.span.of(text) + (f" ({rank})" if rank > 1 else ""),
            None if box == WHOLE_FRAME else box,  # no box is drawn around everything
            similarity,
        )
        for phrase in grounded
        for rank, (box, similarity) in enumerate(phrase.boxes, start=1)
    ]
    return _draw_file(pixels, text, links, None, kind)


@stage("draw")
def draw_caption(pixels: Tensor, caption: SupportedCaption, kind: str) -> bytes:
    """Draw a caption and the boxes of its words; mark unsupported words."""
    links = [
        DrawnLink(
            word.span,
            word.span.of(caption.text),
            word.box,
            word.contribution,
            supported=word.supported is not False,
        )
        for word in caption.words
        if word.contribution is not None
    ]
    return _draw_file(pixels, caption.text, links, caption.score, kind)


def _draw_file(
    pixels: Tensor, text: str, links: Sequence[DrawnLink], score: float | None, kind: str
) -> bytes:
    if kind == PNG:
        return draw_png(pixels, text, links, score)
    return draw_svg(pixels, text, links, score).encode()
