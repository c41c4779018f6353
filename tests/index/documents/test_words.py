"""Words in their form for comparison."""

from __future__ import annotations

import pytest

from index.documents.words import fold, spell, stem, words


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("Café", "cafe"),
        ("T-Shirt", "tshirt"),
        ("women's", "women"),
        ("AB-12/3", "ab123"),
        ("½", "12"),
    ],
)
def test_case_accents_and_signs_do_not_count(word: str, folded: str) -> None:
    assert fold(word) == folded


@pytest.mark.parametrize(
    ("one", "other"), [("shirts", "shirt"), ("running", "runs"), ("watches", "watch")]
)
def test_endings_do_not_count(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_numbers_keep_their_endings() -> None:
    assert stem("501s") == "501s"


def test_words_know_where_they_stand() -> None:
    text = "Red T-Shirt, 100 %"
    assert [text[word.start : word.end] for word in words(text)] == ["Red", "T-Shirt", "100"]


def test_parts_of_joined_words_are_found_too() -> None:
    assert [folded for folded, _ in spell("wash-and-go")] == ["washandgo", "wash", "and", "go"]
