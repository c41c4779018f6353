"""Words in photos are read with their boxes."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from PIL import Image

from benchmarks.photos.signs import draw_sign
from models.vision import visible_words
from models.vision.visible_words import read_words

INSTALLED = importlib.util.find_spec("rapidocr") is not None


@pytest.mark.skipif(not INSTALLED, reason="the extra ocr is not installed")
def test_a_sign_in_a_photo_is_read_where_it_stands() -> None:
    street = Image.new("RGB", (800, 600), (120, 140, 130))
    words = read_words(np.array(draw_sign("Gate 24", street, 0.1).image))
    assert [word.text for word in words] == ["Gate", "24"]
    assert {word.line for word in words} == {0}
    gate, number = (word.box for word in words)
    for box in (gate, number):  # the letters are at 20 % and a third, and 10 % high
        assert box.top == pytest.approx(0.34, abs=0.05)
        assert box.bottom == pytest.approx(0.44, abs=0.05)
    assert gate.left == pytest.approx(0.2, abs=0.03)
    assert 0.25 < gate.right <= number.left + 0.02 < number.right < 0.5


@pytest.mark.parametrize(
    ("line", "pieces", "words"),
    [
        ("Gate B23", ["Gate", "B23"], ["Gate", "B23"]),
        ("GateB23", ["Gate", "B23"], ["Gate", "B23"]),  # the space was seen, but not read
        ("my TV電視", [*"myTV電視"], ["my", "TV", "電", "視"]),
        ("", [*"ab"], ["a", "b"]),
    ],
)
def test_letters_of_mixed_lines_are_joined_into_words(
    line: str, pieces: list[str], words: list[str]
) -> None:
    joined = visible_words._join(line, [(piece, 1.0, None) for piece in pieces])
    assert ["".join(piece[0] for piece in word) for word in joined] == words


def test_boxes_are_fractions_within_the_photo_and_doubtful_words_are_left_out() -> None:
    def piece(text: str, confidence: float, *corners: tuple[int, int]) -> visible_words.Piece:
        return text, confidence, list(corners) or None

    slanted = ((-5, 10), (60, 20), (50, 45), (10, 40))
    words = [
        [piece("EXIT", 0.9, *slanted)],
        [piece("doubt", 0.4, *slanted)],
        [piece("nowhere", 0.9)],
        [piece("flat", 0.9, (1, 1), (5, 1))],
        [piece("x" * 101, 0.9, *slanted)],
    ]
    ((text, box),) = visible_words._place(words, 100, 50)
    assert (text, box.left, box.top, box.right, box.bottom) == ("EXIT", 0, 0.2, 0.6, 0.9)
