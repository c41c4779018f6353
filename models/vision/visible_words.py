"""Words in photos with their boxes, read by rapidocr; imports no torch.

Its networks (PP-OCRv6 small, Apache-2.0) come in its package: nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from models import extras
from models.types import Box
from models.vision.photo_decoding import Pixels

LONGEST_SIDE = 2000  # pixels of a photo that is read; a larger one is scaled down
FIRST_SIDE = 1280  # pixels of the first reading, which finds large letters better
LOW_LINE = 20  # pixels there: with a lower line, a photo is read at the longest side as well
LEAST_CONFIDENCE = 0.5  # of a word
LONGEST_WORD = 100  # characters
DIGITS = 3  # of a box's fractions
WIDE = "\u2e80"  # from here on are characters that are words of their own, such as Chinese ones
NETWORKS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
}
MISSING = f"text in photos is read with an extra: {extras.install('ocr')}"
Piece = tuple[str, float, Any]  # a word or a character, its confidence, and its corners in pixels


@dataclass(frozen=True, slots=True)
class VisibleWord:
    """A word in a photo, its box, and the number of its line."""

    text: str
    box: Box
    line: int


def readable() -> bool:
    """Return whether the extra for text is installed."""
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


def read_words(pixels: Pixels) -> list[VisibleWord]:
    """Read the words in a photo (height, width, 3), line by line.

    Raises ImportError without the extra, and the library's errors.
    """
    words = _read(pixels, FIRST_SIDE)
    longest = max(pixels.shape[:2])
    scale = pixels.shape[0] * min(1.0, FIRST_SIDE / longest)
    if longest > FIRST_SIDE and any(_height(word) * scale < LOW_LINE for word in words):
        return max(words, _read(pixels, LONGEST_SIDE), key=_count_letters)
    return words


def _height(word: VisibleWord) -> float:
    return word.box.bottom - word.box.top


def _count_letters(words: Iterable[VisibleWord]) -> int:
    return sum(len(word.text) for word in words)


def _read(pixels: Pixels, longest: int) -> list[VisibleWord]:
    """Read the words in a photo scaled down to a longest side."""
    height, width = pixels.shape[:2]
    reader = _load()
    reader.max_side_len = longest
    answer = reader(np.ascontiguousarray(pixels[:, :, ::-1]))  # it takes blue first
    if not answer.txts:
        return []
    lines = answer.word_results
    texts = answer.txts if len(answer.txts) == len(lines) else [""] * len(lines)
    return [
        VisibleWord(text, box, number)
        for number, (text, pieces) in enumerate(zip(texts, lines, strict=True))
        for text, box in _place(_join(text, pieces), width, height)
    ]


@cache
def _load() -> Any:
    """Load the networks; one thread reads a photo."""
    import rapidocr

    folder = Path(rapidocr.__file__).parent / "models"
    networks = {f"{part}.model_path": str(folder / name) for part, name in NETWORKS.items()}
    options = {
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        "Global.return_word_box": True,
        "Global.log_level": "critical",
    }
    return rapidocr.RapidOCR(params=networks | options)


def _join(line: str, pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Join the letters of a line into words.

    In a line with Chinese the library parts all words into letters.

    >>> letters = [(letter, 1.0, None) for letter in "aTV電視"]
    >>> ["".join(text for text, *_ in word) for word in _join("a TV電視", letters)]
    ['a', 'TV', '電', '視']
    """
    word, end = list[Piece](), 0
    for piece in pieces:
        start = line.find(piece[0], end)
        if word and not (start == end and _is_letter(word[-1][0]) and _is_letter(piece[0])):
            yield word
            word = []
        word.append(piece)
        end = start + len(piece[0]) if start >= 0 else end
    if word:
        yield word


def _is_letter(text: str) -> bool:
    return len(text) == 1 and text < WIDE


def _place(words: Iterable[Sequence[Piece]], width: int, height: int) -> Iterator[tuple[str, Box]]:
    """Yield the sure words of a line and their upright boxes."""
    for pieces in words:
        text = "".join("".join(piece[0] for piece in pieces).split())
        corners = [corner for *_, corners in pieces if corners is not None for corner in corners]
        confidence = sum(piece[1] for piece in pieces) / len(pieces)
        if not corners or not 0 < len(text) <= LONGEST_WORD or confidence < LEAST_CONFIDENCE:
            continue
        across, down = (np.array(corners, float) / (width, height)).clip(0, 1).round(DIGITS).T
        box = Box(*map(float, (across.min(), down.min(), across.max(), down.max())))
        if box.left < box.right and box.top < box.bottom:
            yield text, box
