"""Text in photos is metadata, and its words have boxes."""

from __future__ import annotations

import pytest

from index.documents.bm25 import Alternative
from index.documents.languages.stems import stem
from index.photos.visible_text import MOST_WORDS, WordPlace, find_places, write_text
from models.types import Box
from models.vision.visible_words import VisibleWord

LEFT, RIGHT = Box(0.1, 0.2, 0.4, 0.3), Box(0.5, 0.2, 0.9, 0.3)
PHOTOS = [
    [VisibleWord("NOTAUSGANG", LEFT, 0), VisibleWord("Exit", RIGHT, 0)],
    [],
    [VisibleWord("Café", LEFT, 0), VisibleWord("wi-fi,", RIGHT, 1)],
]


def places(text: str, metadata: dict[str, object] | None = None) -> list[WordPlace]:
    term = " ".join(map(stem, text.split()))
    return find_places(write_text(PHOTOS) if metadata is None else metadata, [Alternative(term)])


def test_words_are_a_text_and_boxes_are_parallel_to_them() -> None:
    assert write_text(PHOTOS) == {
        "text": "NOTAUSGANG Exit\nCafé\nwi-fi,",
        "text_boxes": [
            [0, 0.1, 0.2, 0.4, 0.3],
            [0, 0.5, 0.2, 0.9, 0.3],
            [2, 0.1, 0.2, 0.4, 0.3],
            [2, 0.5, 0.2, 0.9, 0.3],
        ],
    }
    assert write_text([[], []]) == {}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("exit", WordPlace(0, RIGHT)),
        ("cafe", WordPlace(2, LEFT)),
        ("wi fi", WordPlace(2, RIGHT)),
    ],
)
def test_a_folded_word_is_found_in_its_photo(text: str, place: WordPlace) -> None:
    assert places(text) == [place]


@pytest.mark.parametrize("text", ["ausgang", "entrance", "exit cafe fi"])
def test_other_words_have_no_place(text: str) -> None:
    assert places(text) == []


def test_words_in_a_row_are_all_shown() -> None:
    assert places("notausgang exit") == [WordPlace(0, LEFT), WordPlace(0, RIGHT)]


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "Exit"},
        {"text": 5},
        {"text_boxes": None},
        {"text_boxes": [[0, 0.1, 0.2]] * 4},
        {"text_boxes": [[0, 0.9, 0.2, 0.5, 0.3]] * 4},
        {"text_boxes": [[0, "a", 0.2, 0.5, 0.3]] * 4},
    ],
)
def test_an_edited_text_has_no_wrong_boxes(changed: dict[str, object]) -> None:
    assert places("exit", write_text(PHOTOS) | changed) == []


def test_a_corrected_word_keeps_its_box() -> None:
    corrected = write_text(PHOTOS) | {"text": "Notausgang EXITS Café Wi-Fi"}
    assert places("exits", corrected) == [WordPlace(0, RIGHT)]


def test_the_words_of_an_item_are_bounded() -> None:
    written = write_text([[VisibleWord("a", LEFT, 0)] * (MOST_WORDS + 1)])
    assert len(written["text"].split()) == len(written["text_boxes"]) == MOST_WORDS
