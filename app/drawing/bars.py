"""The sentence of an alignment picture, with a bar on each phrase."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.drawing.lettering import INK, Rect, Shape, TextLine, ink_on, printable, shorten, text_width
from models.types import Box, Span

WHOLE, GREY, PALE = "#4a4a4a", "#6b6b6b", "#a6a6a6"
GAP, PAD = 6, 7
CHIP, NUMBER = 30, 18  # heights
BAR, BAR_WIDTH, BAR_GAP = 44, 22, 3
WORD_SIZE, NUMBER_SIZE = 18, 12


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A phrase's similarity to the `whole` photo and to its `box`.

    `box` is None if the whole photo answers; `whole` is None if the two are not separated.
    A link that is not `supported` has no region, even if its similarity is high. One that is not
    `of_photo` comes from words of the photo's item.
    """

    span: Span
    label: str
    box: Box | None
    similarity: float
    whole: float | None = None
    supported: bool = True
    of_photo: bool = True

    def overlaps(self, other: DrawnLink) -> bool:
        """Return whether the two fragments share a character."""
        return self.span.start < other.span.end and other.span.start < self.span.end


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the sentence; without a link it has no colour."""

    text: str
    colour: str | None = None
    similarity: float = 0.0
    whole: float | None = None

    @classmethod
    def of(cls, text: str, link: DrawnLink, colour: str) -> Piece:
        """A link's piece."""
        return cls(text, colour, link.similarity, link.whole)

    @property
    def whole_share(self) -> float:
        """The whole photo's fraction of a positive similarity, 0 to 1."""
        if self.whole is None or self.similarity <= 0:
            return 0.0
        return min(max(self.whole / self.similarity, 0.0), 1.0)

    @property
    def number(self) -> str:
        """The similarity as a text, without a negative zero."""
        return f"{self.similarity:z.2f}"

    @property
    def width(self) -> float:
        """The room it takes in a line."""
        word = text_width(self.text, WORD_SIZE)
        if self.colour is None:
            return word
        return max(word + 2 * PAD, text_width(self.number, NUMBER_SIZE) + 2)


def order_links(links: Sequence[DrawnLink]) -> tuple[list[DrawnLink], list[DrawnLink]]:
    """Put links of the sentence first, overlapping ones last.

    A link overlaps if a shorter one lies inside.
    """
    inline: list[DrawnLink] = []
    after: list[DrawnLink] = []
    for link in sorted(links, key=lambda link: link.span.end - link.span.start):
        (after if any(link.overlaps(other) for other in inline) else inline).append(link)
    inline.sort(key=lambda link: link.span.start)
    after.sort(key=lambda link: link.span.start)
    return inline, after


def cut_pieces(
    sentence: str,
    inline: Sequence[DrawnLink],
    after: Sequence[DrawnLink],
    colours: Mapping[Box | None, str],
) -> Iterator[Piece]:
    """Cut the sentence into pieces, followed by the overlapping links."""
    position = 0
    for link in inline:
        yield from map(Piece, sentence[position : link.span.start].split())
        text = sentence[link.span.start : link.span.end]
        if link.supported:
            yield Piece.of(text, link, colours[link.box])
        else:
            yield Piece.of(f"{text} ?", link, PALE)
        position = link.span.end
    yield from map(Piece, sentence[position:].split())
    for link in after:
        yield Piece.of(printable(link.label), link, colours[link.box])


def write(
    words: Iterable[Piece], corner: tuple[float, float], room: float
) -> tuple[list[Shape], float]:
    """Draw the sentence in lines with bars.

    It returns the next line's top as well.

    `corner` is its left and top.
    """
    top = corner[1]
    lines = list(_break_lines(words, room))
    gave = [piece.similarity for line in lines for piece in line]
    scale = BAR / (max(map(abs, gave), default=0.0) or 1.0)
    shapes: list[Shape] = []
    for line in lines:
        lowest = min(piece.similarity for piece in line)
        top += round(max(0.0, *(piece.similarity for piece in line)) * scale) + NUMBER
        left = corner[0]
        for piece in line:
            shapes += _draw_word(piece, left, top, scale)
            left += piece.width + GAP
        top += CHIP + 2 * GAP + (round(-lowest * scale) + NUMBER if lowest < 0 else 0)
    return shapes, top


def _break_lines(words: Iterable[Piece], room: float) -> Iterator[list[Piece]]:
    """Break the sentence into lines; shorten long pieces."""
    line: list[Piece] = []
    left = room
    for piece in words:
        text = shorten(piece.text, WORD_SIZE, room - 2 * PAD)
        piece = replace(piece, text=text)
        if line and piece.width > left:
            yield line
            line, left = [], room
        line.append(piece)
        left -= piece.width + GAP
    if line:
        yield line


def _draw_word(piece: Piece, left: float, top: float, scale: float) -> Iterator[Shape]:
    """Draw a word on its colour, with a bar.

    The whole photo's share is grey.

    A negative similarity hangs hollow below it.
    """
    baseline = top + CHIP - 9
    if piece.colour is None:
        yield TextLine(left, baseline, piece.text, WORD_SIZE, GREY)
        return
    middle = left + piece.width / 2
    word = middle - text_width(piece.text, WORD_SIZE) / 2
    number = middle - text_width(piece.number, NUMBER_SIZE) / 2
    bar = round(middle - BAR_WIDTH / 2)
    height = round(abs(piece.similarity) * scale)
    yield Rect(left, top, piece.width, CHIP, piece.colour)
    yield TextLine(word, baseline, piece.text, WORD_SIZE, ink_on(piece.colour))
    if piece.similarity < 0:
        below = top + CHIP + BAR_GAP
        yield Rect(bar, below, BAR_WIDTH, height, None, piece.colour, 2)
        yield TextLine(number, below + height + 12, piece.number, NUMBER_SIZE, INK)
    else:
        whole, foot = round(height * piece.whole_share), top - BAR_GAP
        added = PALE if piece.colour == WHOLE and piece.whole is not None else piece.colour
        yield Rect(bar, foot - height, BAR_WIDTH, height - whole, added)
        if whole:
            yield Rect(bar, foot - whole, BAR_WIDTH, whole, WHOLE)
        yield TextLine(number, top - BAR_GAP - height - 4, piece.number, NUMBER_SIZE, INK)
