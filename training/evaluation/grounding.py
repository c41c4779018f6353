"""Phrases to be localised: their fragments in a sentence's bag, their true boxes as one."""

from __future__ import annotations

from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span

IOU = 0.5


def fragments_in(sentence: FragmentBag, span: Span) -> list[int]:
    """The fragments that overlap a span, the whole sentence apart."""
    return [
        position
        for position, (place, label) in enumerate(
            zip(sentence.places, sentence.labels, strict=True)
        )
        if isinstance(place, Span)
        and label != WHOLE_SENTENCE
        and place.start < span.end
        and span.start < place.end
    ]


def around(boxes: tuple[Box, ...]) -> Box:
    """The smallest box that holds all."""
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def holds_centre(box: Box, other: Box) -> bool:
    """Whether the centre of another box lies in a box."""
    x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
    return box.left <= x <= box.right and box.top <= y <= box.bottom
