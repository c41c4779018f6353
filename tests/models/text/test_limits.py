"""Limits of texts: refusals, cut runs, and linear time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from models.text.limits import (
    LONGEST_RUN,
    LONGEST_TEXT,
    MOST_SIGNS,
    MOST_TOGETHER,
    MOST_WORDS,
    count_signs,
    cut_runs,
    refuse_huge,
    refuse_many,
)
from models.text.parsing import forgetting, parse, parse_trees, tokenizer
from models.text.reading import find_phrase, read
from tests.hostile import PIECES, pieces, repeated, seconds

PROSE = ("Two children in red jackets watch a brown dog that leaps over an old stone wall, " * 99)[
    :LONGEST_TEXT
]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("a " + "%" * 7900, f"at most {MOST_SIGNS}"),
        ("1," * 4000, f"at most {MOST_SIGNS}"),
        ("_" * (MOST_SIGNS + 1), f"at most {MOST_SIGNS}"),
        ("\u200b" * (MOST_SIGNS + 1), f"at most {MOST_SIGNS}"),
        ("a " * (MOST_WORDS + 1), f"at most {MOST_WORDS} words"),
        ("a" * (LONGEST_TEXT + 1), f"{LONGEST_TEXT:,} characters"),
    ],
)
def test_what_no_one_writes_is_refused_before_it_is_parsed(monkeypatch, text, limit):
    monkeypatch.setattr("models.text.parsing.tokenizer", None)
    with pytest.raises(ValueError, match=limit):
        parse(text)


@pytest.mark.parametrize(
    "text", ["a dog " + "=" * 300, "नमस्ते " * MOST_WORDS, "ไทยแลนด์" * 400, "a, " * MOST_WORDS]
)
def test_what_people_write_is_not_refused(text):
    refuse_huge(text)
    assert parse(text).words


def test_signs_are_no_letters_marks_or_spaces():
    assert [count_signs(text) for text in ("a_b, c!", "e\u0301 naïve", "🐶 ²3", "")] == [3, 0, 1, 0]


def test_phrases_are_bounded_together():
    refuse_many(["a red dress"] * 50)
    with pytest.raises(ValueError, match=f"together 1,010 words.*at most {MOST_TOGETHER:,} words"):
        refuse_many(["a " * 101] * 10)
    with pytest.raises(ValueError, match=f"together 650 punct.*at most {MOST_SIGNS}"):
        refuse_many(["%" * 13] * 50)


@pytest.mark.parametrize("piece", PIECES)
def test_cutting_adds_spaces_alone(piece):
    text = repeated(piece, 3 * LONGEST_RUN)
    spaced, cuts = cut_runs(text)
    assert all(spaced[cut] == " " for cut in cuts)
    assert "".join(spaced[a + 1 : b] for a, b in pairwise([-1, *cuts, len(spaced)])) == text
    longest = max(map(len, spaced.split()))
    assert longest <= LONGEST_RUN or not cuts


def test_runs_that_people_write_stay_whole():
    address = "http://shop.example/" + "a-b/" * 45
    assert len(address) == LONGEST_RUN
    for text in (f"see {address} now", "x" * 3000, "狗" * 500):
        assert cut_runs(text) == (text, [])


@pytest.mark.parametrize("piece", ["(dog) ", "dog)", "a.dog/", "狗，狗。"])
def test_spans_of_a_cut_run_point_into_the_text(piece):
    text = "A cat, " + "(" * 150 + piece * 40
    for sentence in (parse(text), *parse_trees([text])):
        assert [text[w.span.start : w.span.end] for w in sentence.words] == [
            w.text for w in sentence.words
        ]
        assert sentence.words[0].text == "A"


def test_a_phrase_is_found_whole_first_and_whatever_its_case():
    span = find_phrase("A catalog of a CAT, a cat", "Cat")
    assert (span.start, span.end) == (15, 18)
    assert find_phrase("a catalog", "cat").start == 2
    assert find_phrase("İa cat", "CAT").start == 3
    with pytest.raises(ValueError, match="not in the text"):
        find_phrase("a dog", "cat")


def costs(text: str) -> dict[str, float]:
    """Costs of reading a text, by reader."""
    half = text[2 : len(text) // 2]
    return {
        "parse": seconds(lambda: parse(text)),
        "read": seconds(lambda: read(text)),
        "find_phrase": seconds(lambda: find_phrase(text, half + "b")),
    }


def plain_cost() -> float:
    """A tokenizer's cost for LONGEST_TEXT of prose."""

    def tokenize() -> None:
        with forgetting(tokenizer()):
            tokenizer().make_doc(PROSE)

    return seconds(tokenize)


def check(texts: list[str]) -> None:
    """Compare texts with prose; squares cost 100 to 1,000 ×."""
    plain = plain_cost()
    slow = {}
    for text in texts:
        for reader, cost in costs(text).items():
            if cost > 20 * plain:
                slow[reader, text[:20], len(text)] = cost / plain
    assert not slow


def test_no_text_takes_the_square_of_its_length():
    hostile = ("%", "a)", "'s", "(", "a://b", "no a, ", "a b, ", "İ", "-a ", "£")
    check([repeated(piece, length) for piece in hostile for length in (500, LONGEST_TEXT)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_repetition_takes_the_square_of_its_length(seed):
    lengths = (500, 1000, 2000, 4000, LONGEST_TEXT)
    check([repeated(piece, length) for piece in pieces(seed, 150) for length in lengths])
