"""Layout of an alignment picture, in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.drawing.bars import GREY, PAD, WHOLE, DrawnLink, cut_pieces, order_links, write
from app.drawing.lettering import (
    PAPER,
    Rect,
    Shape,
    TextLine,
    ink_on,
    printable,
    shorten,
    text_width,
)
from models.types import Box

# Okabe & Ito's colours for every kind of colour vision, then the same hues darker and paler.
HUES = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442")
DARKER = ("#00456b", "#8a5f00", "#005f45", "#803800", "#7a4864", "#34698a", "#90882a")
PALER = ("#80b8d8", "#f2cf80", "#80cfb9", "#eaaf80", "#e6bcd3", "#abdaf4", "#f8f2a1")
COLOURS = HUES + DARKER + PALER

LARGEST_PHOTO, LARGEST_ZOOM, LEAST_WIDTH = (960, 720), 4.0, 560
MARGIN, TAB = 28, 24
LABEL_SIZE, SCORE_SIZE = 15, 16


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """A picture: its size, the photo's place, and the shapes on top."""

    width: int
    height: int
    photo: Rect
    shapes: tuple[Shape, ...]


def lay_out(
    size: tuple[int, int], sentence: str, links: Sequence[DrawnLink], score: float | None
) -> PictureLayout:
    """Lay out a photo of (width, height), its boxes and its sentence."""
    zoom = min(LARGEST_PHOTO[0] / size[0], LARGEST_PHOTO[1] / size[1], LARGEST_ZOOM)
    inline, after = order_links(links)
    ordered = [*inline, *after]
    # A phrase that speaks against the photo is no answer of the whole photo.
    shown = (link for link in ordered if link.supported and link.of_photo)
    answered = [link for link in shown if link.box or link.similarity >= 0]
    boxes = dict.fromkeys(link.box for link in answered)
    top = MARGIN + (TAB if None in boxes else 0)
    photo = Rect(MARGIN, top, max(round(size[0] * zoom), 1), max(round(size[1] * zoom), 1))
    width = max(int(photo.width), LEAST_WIDTH)
    hues = iter(COLOURS * (1 + len(boxes) // len(COLOURS)))
    colours = {box: next(hues) for box in boxes if box is not None} | {None: WHOLE}
    phrases = {
        box: join_labels(sentence, [link for link in answered if link.box == box]) for box in boxes
    }
    words = cut_pieces(sentence, inline, after, colours)
    written, bottom = write(words, (MARGIN, photo.bottom + MARGIN), width)
    shapes = (
        *_draw_boxes(photo, phrases, colours),
        *written,
        TextLine(MARGIN, bottom + SCORE_SIZE, _describe_total(links, score), SCORE_SIZE, GREY),
    )
    return PictureLayout(width + 2 * MARGIN, int(bottom + SCORE_SIZE + MARGIN), photo, shapes)


def _describe_total(links: Sequence[DrawnLink], score: float | None) -> str:
    """Describe the bars in the line below the sentence."""
    if score is None:
        return "each bar: how well its box fits the phrase" if links else "not in this photo"
    split = any(link.whole is not None for link in links)
    tones = "; dark grey: what the whole photo gave" if split else ""
    doubts = "" if all(link.supported for link in links) else "; pale, with ?: not supported"
    return f"score {score:z.2f}, the sum of the bars{tones}{doubts}"


def join_labels(sentence: str, links: Sequence[DrawnLink]) -> str:
    """The links' labels; neighbours in the sentence read as one phrase."""
    text = links[0].label
    for before, after in pairwise(links):
        between = sentence[before.span.end : after.span.start]
        neighbours = before.span.end <= after.span.start and not between.strip()
        text += (" " if neighbours else ", ") + after.label
    return printable(text)


def _draw_boxes(
    photo: Rect, phrases: dict[Box | None, str], colours: dict[Box | None, str]
) -> Iterator[Shape]:
    """Draw outlines, large ones first, then labels without overlaps."""
    boxes = sorted((box for box in phrases if box is not None), key=lambda box: -box.area)
    places = {box: _place_box(photo, box) for box in boxes}
    for box, place in places.items():  # a pale rim keeps the colour visible on any photo
        yield place.outline(1, PAPER, 6)
        yield place.outline(0, colours[box], 4)
    if None in phrases:  # the strip above the photo
        label = f"the whole photo: {phrases[None]}"
        yield from _draw_label(label, photo.left, photo.top - TAB, WHOLE, photo.width)
    taken: list[Rect] = []
    for box, place in reversed(places.items()):
        room = max(photo.width / 2, 120)
        width = text_width(shorten(phrases[box], LABEL_SIZE, room - 2 * PAD), LABEL_SIZE) + 14
        left, top = _find_place(photo, place, width, taken)
        taken.append(Rect(left, top, width, TAB))
        yield from _draw_label(phrases[box], left, top, colours[box], room)


def _draw_label(text: str, left: float, top: float, colour: str, room: float) -> Iterator[Shape]:
    """Draw a text on its colour, shortened to its room."""
    text = shorten(text, LABEL_SIZE, room - 2 * PAD)
    yield Rect(left, top, text_width(text, LABEL_SIZE) + 2 * PAD, TAB, colour)
    yield TextLine(left + PAD, top + TAB - PAD, text, LABEL_SIZE, ink_on(colour))


def _place_box(photo: Rect, box: Box) -> Rect:
    left, top = round(box.left * photo.width), round(box.top * photo.height)
    right, bottom = round(box.right * photo.width), round(box.bottom * photo.height)
    return Rect(photo.left + left, photo.top + top, max(right - left, 4), max(bottom - top, 4))


def _find_place(photo: Rect, box: Rect, width: float, taken: Iterable[Rect]) -> tuple[float, float]:
    """Find the label's place inside the photo with the fewest overlaps."""
    tops = [box.top - TAB, box.bottom, box.top, box.bottom - TAB]
    tops += [box.top + TAB * step for step in range(1, int(box.height // TAB))]
    places = [
        (
            max(min(left, photo.right - width), photo.left),
            max(min(top, photo.bottom - TAB), photo.top),
        )
        for top in tops
        for left in (box.left, box.right - width)
    ]
    return min(
        places, key=lambda at: sum(Rect(at[0], at[1], width, TAB).overlap(tab) for tab in taken)
    )
