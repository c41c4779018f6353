"""Text in photos as metadata, with the boxes of its words.

`text` has the words, a space or a line break between two, and `text_boxes` a list [photo, left,
top, right, bottom] for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from index.documents.bm25 import Alternative
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.words import tokens
from models.types import Box
from models.vision.visible_words import VisibleWord

TEXT, BOXES = "text", "text_boxes"  # keys of metadata
MOST_WORDS = 1_000  # of an item: at most 40 bytes each besides their letters
MOST_PLACES = 20  # of a word that are shown


@dataclass(frozen=True, slots=True)
class WordPlace:
    """The place of a word in one of an item's photos."""

    photo: int
    box: Box

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Its left, top, right and bottom."""
        return _corners(self.box)


def write_text(photos: Sequence[Sequence[VisibleWord]]) -> dict[str, Any]:
    """Write the words of an item's photos as metadata; empty without any."""
    read = [(number, word) for number, words in enumerate(photos) for word in words]
    if not read:
        return {}
    read = read[:MOST_WORDS]
    lines = groupby(read, lambda pair: (pair[0], pair[1].line))
    text = "\n".join(" ".join(word.text for _, word in line) for _, line in lines)
    boxes = [[number, *_corners(word.box)] for number, word in read]
    return {TEXT: text, BOXES: boxes}


def find_places(
    metadata: Mapping[str, Any],
    alternatives: Iterable[Alternative],
    language: WordLanguage = ENGLISH,
) -> list[WordPlace]:
    """Find some places of a query word in an item's photos.

    There are none for a text that was edited to another number of words.
    """
    texts, boxes = str(metadata.get(TEXT, "")).split(), metadata.get(BOXES)
    if not isinstance(boxes, list) or len(boxes) != len(texts):
        return []
    stems = [
        (language.stem(token.folded), at)
        for at, text in enumerate(texts)
        for token in tokens(text, language=language)
    ]
    rows = (_find_row(stems, alternative.stems) for alternative in alternatives)
    places = (_read_place(boxes[at]) for at in sorted(set(chain.from_iterable(rows))))
    return [place for place in places if place is not None][:MOST_PLACES]


def _find_row(stems: Sequence[tuple[str, int]], wanted: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the words with some stems in a row."""
    for start in range(len(stems) - len(wanted) + 1):
        row = stems[start : start + len(wanted)]
        if [term for term, _ in row] == wanted:
            yield from (at for _, at in row)


def _read_place(stored: Any) -> WordPlace | None:
    """Read a place; None for a broken one."""
    match stored:
        case [int(photo), *corners] if (
            photo >= 0 and len(corners) == 4 and all(map(_is_fraction, corners))
        ):
            box = Box(*map(float, corners))
            return WordPlace(photo, box) if box.left < box.right and box.top < box.bottom else None
    return None


def _is_fraction(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _corners(box: Box) -> tuple[float, float, float, float]:
    return box.left, box.top, box.right, box.bottom
