"""Where does everything in an alignment picture go? All lengths are in pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.lettering import INK, PAPER, ink_on, printable, shortened, text_width
from models.types import WHOLE_FRAME, Box, Span

# Okabe & Ito's colours for every kind of colour vision, then the same hues darker and paler.
HUES = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442")
DARKER = ("#00456b", "#8a5f00", "#005f45", "#803800", "#7a4864", "#34698a", "#90882a")
PALER = ("#80b8d8", "#f2cf80", "#80cfb9", "#eaaf80", "#e6bcd3", "#abdaf4", "#f8f2a1")
COLOURS = HUES + DARKER + PALER
FRAME, GREY = "#4a4a4a", "#6b6b6b"

LARGEST_PHOTO, LARGEST_ZOOM, LEAST_WIDTH = (960, 720), 4.0, 560
MARGIN, GAP, PAD = 28, 6, 7
TAB, CHIP, NUMBER = 24, 30, 18  # heights
BAR, BAR_WIDTH, BAR_GAP = 44, 22, 3
LABEL_SIZE, WORD_SIZE, NUMBER_SIZE, SCORE_SIZE = 15, 18, 12, 16


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """The fragment at `span` of the sentence chose `box` of the photo, and gave `similarity`."""

    span: Span
    label: str
    box: Box
    similarity: float

    def overlaps(self, other: DrawnLink) -> bool:
        """Whether the two fragments share a character."""
        return self.span.start < other.span.end and other.span.start < self.span.end


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
        """The area that both cover."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0.0) * max(high, 0.0)

    def outlined(self, grown: float, stroke: str, thickness: int) -> Rect:
        """An outline that much outside."""
        width, height = self.width + 2 * grown, self.height + 2 * grown
        return Rect(self.left - grown, self.top - grown, width, height, None, stroke, thickness)


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text."""

    left: float
    baseline: float
    text: str
    size: int
    colour: str


Shape = Rect | Text


@dataclass(frozen=True, slots=True)
class Layout:
    """A white picture of a size, a photo on it, and shapes over that, in order."""

    width: int
    height: int
    photo: Rect
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the sentence; one that no link covers has no colour and gave nothing."""

    text: str
    colour: str | None = None
    similarity: float = 0.0

    @property
    def number(self) -> str:
        """What a person reads of the similarity; never a negative zero."""
        return f"{self.similarity:z.2f}"

    @property
    def width(self) -> float:
        """The room it takes in a line."""
        word = text_width(self.text, WORD_SIZE)
        if self.colour is None:
            return word
        return max(word + 2 * PAD, text_width(self.number, NUMBER_SIZE) + 2)


def lay_out(
    size: tuple[int, int], sentence: str, links: Sequence[DrawnLink], score: float | None
) -> Layout:
    """The picture of a photo, its (width, height) given, and of what a sentence found in it."""
    zoom = min(LARGEST_PHOTO[0] / size[0], LARGEST_PHOTO[1] / size[1], LARGEST_ZOOM)
    inline, after = reading_order(links)
    boxes = dict.fromkeys(link.box for link in (*inline, *after))
    top = MARGIN + (TAB if WHOLE_FRAME in boxes else 0)
    photo = Rect(MARGIN, top, max(round(size[0] * zoom), 1), max(round(size[1] * zoom), 1))
    width = max(int(photo.width), LEAST_WIDTH)
    hues = iter(COLOURS * (1 + len(boxes) // len(COLOURS)))
    colours = {box: FRAME if box == WHOLE_FRAME else next(hues) for box in boxes}
    phrases = {
        box: phrase(sentence, [link for link in (*inline, *after) if link.box == box])
        for box in boxes
    }
    pieces = _pieces(sentence, inline, after, colours)
    written, bottom = _write(pieces, photo.bottom + MARGIN, width)
    total = (
        "each bar: how well its box fits the phrase"
        if score is None
        else f"score {score:z.2f}, the sum of the bars"
    )
    shapes = (
        *_boxes(photo, phrases, colours),
        *written,
        Text(MARGIN, bottom + SCORE_SIZE, total, SCORE_SIZE, GREY),
    )
    return Layout(width + 2 * MARGIN, int(bottom + SCORE_SIZE + MARGIN), photo, shapes)


def reading_order(links: Sequence[DrawnLink]) -> tuple[list[DrawnLink], list[DrawnLink]]:
    """The links that can be read in the sentence, and those that overlap shorter ones."""
    inline: list[DrawnLink] = []
    after: list[DrawnLink] = []
    for link in sorted(links, key=lambda link: link.span.end - link.span.start):
        (after if any(link.overlaps(other) for other in inline) else inline).append(link)
    inline.sort(key=lambda link: link.span.start)
    after.sort(key=lambda link: link.span.start)
    return inline, after


def phrase(sentence: str, links: Sequence[DrawnLink]) -> str:
    """The links' labels; neighbours in the sentence read as one phrase."""
    text = links[0].label
    for before, after in pairwise(links):
        between = sentence[before.span.end : after.span.start]
        neighbours = before.span.end <= after.span.start and not between.strip()
        text += (" " if neighbours else ", ") + after.label
    return printable(text)


def _boxes(photo: Rect, phrases: dict[Box, str], colours: dict[Box, str]) -> Iterator[Shape]:
    """Outlines, large ones first, then their labels, which give way to one another."""
    places = {box: _on_photo(photo, box) for box in sorted(phrases, key=lambda box: -box.area)}
    for box, place in places.items():
        if box == WHOLE_FRAME:  # around the photo, hiding none of it
            yield place.outlined(4, FRAME, 4)
        else:  # a pale rim keeps the colour visible on any photo
            yield place.outlined(1, PAPER, 6)
            yield place.outlined(0, colours[box], 4)
    taken: list[Rect] = []
    for box, place in reversed(places.items()):
        room = photo.width if box == WHOLE_FRAME else max(photo.width / 2, 120)
        label = shortened(phrases[box], LABEL_SIZE, room - 2 * PAD)
        left, top, width = place.left - 4, place.top - 4 - TAB, text_width(label, LABEL_SIZE) + 14
        if box != WHOLE_FRAME:  # whose label has the strip above the photo
            left, top = _free_place(photo, place, width, taken)
            taken.append(Rect(left, top, width, TAB))
        yield Rect(left, top, width, TAB, colours[box])
        yield Text(left + PAD, top + TAB - PAD, label, LABEL_SIZE, ink_on(colours[box]))


def _on_photo(photo: Rect, box: Box) -> Rect:
    left, top = round(box.left * photo.width), round(box.top * photo.height)
    right, bottom = round(box.right * photo.width), round(box.bottom * photo.height)
    return Rect(photo.left + left, photo.top + top, max(right - left, 4), max(bottom - top, 4))


def _free_place(photo: Rect, box: Rect, width: float, taken: Iterable[Rect]) -> tuple[float, float]:
    """The left and top of a label inside the photo that hides the least of those before it."""
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


def _pieces(
    sentence: str,
    inline: Sequence[DrawnLink],
    after: Sequence[DrawnLink],
    colours: dict[Box, str],
) -> Iterator[Piece]:
    """The sentence as it reads, then the fragments that overlap shorter ones."""
    position = 0
    for link in inline:
        yield from map(Piece, sentence[position : link.span.start].split())
        text = sentence[link.span.start : link.span.end]
        yield Piece(text, colours[link.box], link.similarity)
        position = link.span.end
    yield from map(Piece, sentence[position:].split())
    for link in after:
        yield Piece(printable(link.label), colours[link.box], link.similarity)


def _write(pieces: Iterable[Piece], top: float, room: float) -> tuple[list[Shape], float]:
    """The sentence in lines with a bar on each word; also where another line would start."""
    lines = list(_lines(pieces, room))
    gave = [piece.similarity for line in lines for piece in line]
    scale = BAR / (max(map(abs, gave), default=0.0) or 1.0)
    shapes: list[Shape] = []
    for line in lines:
        lowest = min(piece.similarity for piece in line)
        top += round(max(0.0, *(piece.similarity for piece in line)) * scale) + NUMBER
        left = float(MARGIN)
        for piece in line:
            shapes += _word(piece, left, top, scale)
            left += piece.width + GAP
        top += CHIP + 2 * GAP + (round(-lowest * scale) + NUMBER if lowest < 0 else 0)
    return shapes, top


def _lines(pieces: Iterable[Piece], room: float) -> Iterator[list[Piece]]:
    """Break the sentence where the next piece would not fit; shorten what fits no line."""
    line: list[Piece] = []
    left = room
    for piece in pieces:
        text = shortened(piece.text, WORD_SIZE, room - 2 * PAD)
        piece = Piece(text, piece.colour, piece.similarity)
        if line and piece.width > left:
            yield line
            line, left = [], room
        line.append(piece)
        left -= piece.width + GAP
    if line:
        yield line


def _word(piece: Piece, left: float, top: float, scale: float) -> Iterator[Shape]:
    """A word on its colour; what it gave stands on it, or hangs hollow below it if negative."""
    baseline = top + CHIP - 9
    if piece.colour is None:
        yield Text(left, baseline, piece.text, WORD_SIZE, GREY)
        return
    middle = left + piece.width / 2
    word = middle - text_width(piece.text, WORD_SIZE) / 2
    number = middle - text_width(piece.number, NUMBER_SIZE) / 2
    bar = round(middle - BAR_WIDTH / 2)
    height = round(abs(piece.similarity) * scale)
    yield Rect(left, top, piece.width, CHIP, piece.colour)
    yield Text(word, baseline, piece.text, WORD_SIZE, ink_on(piece.colour))
    if piece.similarity < 0:
        below = top + CHIP + BAR_GAP
        yield Rect(bar, below, BAR_WIDTH, height, None, piece.colour, 2)
        yield Text(number, below + height + 12, piece.number, NUMBER_SIZE, INK)
    else:
        yield Rect(bar, top - BAR_GAP - height, BAR_WIDTH, height, piece.colour)
        yield Text(number, top - BAR_GAP - height - 4, piece.number, NUMBER_SIZE, INK)
