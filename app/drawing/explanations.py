"""Pictures of explanations: a photo, the boxes that answer a text, and what each phrase gave."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from app.drawing.bars import DrawnLink
from app.drawing.pictures import draw_png, draw_svg
from app.engine.inference import Alignment, GroundedPhrase
from app.telemetry.stages import stage
from models.captions.support import SupportedCaption
from models.types import WHOLE_FRAME, Span

PNG, SVG = "image/png", "image/svg+xml"


@stage("draw")
def draw_alignment(pixels: Tensor, text: str, alignment: Alignment, kind: str) -> bytes:
    """An alignment of a photo, uint8 RGB (3, height, width), and a text as a PNG or SVG file."""
    links = []
    for phrase in alignment.phrases:
        box = None if phrase.region is None else alignment.image.places[phrase.region]
        assert not isinstance(box, Span)
        words = text[phrase.span.start : phrase.span.end]
        links.append(DrawnLink(phrase.span, words, box, phrase.similarity, phrase.whole))
    return _file(pixels, text, links, alignment.score, kind)


@stage("draw")
def draw_grounding(
    pixels: Tensor, text: str, grounded: Sequence[GroundedPhrase], kind: str
) -> bytes:
    """Phrases and the best box of each as a file; those that are not there are written only."""
    links = [
        DrawnLink(
            phrase.span,
            text[phrase.span.start : phrase.span.end],
            None if box == WHOLE_FRAME else box,  # no box is drawn around everything
            similarity,
        )
        for phrase in grounded
        for box, similarity in phrase.boxes[:1]
    ]
    return _file(pixels, text, links, None, kind)


@stage("draw")
def draw_caption(pixels: Tensor, caption: SupportedCaption, kind: str) -> bytes:
    """A caption and the boxes of its words as a file; words that nothing supports are marked."""
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
    return _file(pixels, caption.text, links, caption.score, kind)


def _file(
    pixels: Tensor, text: str, links: Sequence[DrawnLink], score: float | None, kind: str
) -> bytes:
    if kind == PNG:
        return draw_png(pixels, text, links, score)
    return draw_svg(pixels, text, links, score).encode()
