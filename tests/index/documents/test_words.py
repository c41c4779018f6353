"""Words and their tokens, folded and stemmed."""

from __future__ import annotations

import pytest

from index.documents.characters import fold
from index.documents.lacks import find_lacks
from index.documents.languages.stems import stem
from index.documents.numbers import fold_number, other_ways
from index.documents.words import tokens, words


def split(text: str) -> list[str]:
    return [" ".join(token.folded for token in word.tokens) for word in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Café T-Shirt", ["cafe", "t shirt"]),
        ("Women's, womens' and Levi’s", ["women", "womens", "and", "levi"]),
        ("WH-1000XM4 / AB_12/X", ["wh 1000 xm 4", "ab 12 x"]),
        ("5kg 5 kg 500-ml", ["5 kg", "5", "kg", "500 ml"]),
        ("2.5mm 2,5 mm .5 l", ["2.5 mm", "2.5", "mm", "0.5", "l"]),
        ("1,299.00 1.299,00 10,000 36,37,38", ["1299.00", "1299.00", "10000", "36", "37", "38"]),
        ("1/2 ½ 1½ 24/7 36/38", ["1/2", "1/2", "1 1/2", "24 7", "36 38"]),
        ("10-20 –20 -20 (+2.5)", ["10 20", "20", "- 20", "+ 2.5"]),
        ("20x30 20×30 20*30", ["20 x 30", "20 x 30", "20 x 30"]),
        ("H&M, Black & Decker, C++", ["h and m", "black", "and", "decker", "c"]),
        ("U.S.A. e.g. Dr. No", ["usa", "eg", "dr", "no"]),
        ("978-3-16-148410-0 4 006381 333931", ["9783161484100", "4006381333931"]),
        ("m² CO₂ 25℃ №5 Acme™ ❤️", ["m 2", "co 2", "25 c", "no 5", "acme"]),
        ("Glu\u00adten Bath\u200btowel \u200eHam\u200f", ["gluten", "bath", "towel", "ham"]),
        ("हिन्दी कि", ["हिन्दी", "कि"]),
        ("كِتَاب كـتـاب ٥٠٠", ["كتاب", "كتاب", "500"]),
        ("שָׁלוֹם", ["שלום"]),
        ("東京タワー", ["東 京 タ ワ ー"]),
        ("ｶﾞｽ か\u3099", ["ガ ス", "が"]),
        ("커피 \u110f\u1165\u1111\u1175", ["커피", "커피"]),
        ("Smørrebrød Łódź Straße İ", ["smorrebrod", "lodz", "strasse", "i"]),
        ("", []),
        ("☕ -- ...", []),
    ],
)
def test_texts_are_split_as_people_write_the_same(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["crème", "ﬁne", "Ａ１", "ДЁ", "É", "ǅ", "ß"])
def test_a_folded_word_stays_as_it_is(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("shirts", "shirt"),
        ("running", "runs"),
        ("watches", "watch"),
        ("knives", "knife"),
        ("womens", "woman"),
        ("snowmen", "snowman"),
        ("lenses", "lens"),
        ("buses", "bus"),
    ],
)
def test_endings_and_irregular_plurals_do_not_count(text: str, other: str) -> None:
    assert stem(text) == stem(other)


@pytest.mark.parametrize(
    ("text", "other"), [("ramen", "raman"), ("501s", "501"), ("earring", "ear"), ("news", "new")]
)
def test_other_words_are_no_plurals(text: str, other: str) -> None:
    assert stem(text) != stem(other)


def test_tokens_know_where_they_stand() -> None:
    text = "Red T-Shirt, 2.5 l ½"
    assert [text[token.start : token.end] for token in tokens(text)] == [
        *("Red", "T", "Shirt", "2.5", "l", "½")
    ]


def test_a_number_has_one_way_of_writing_and_knows_the_others() -> None:
    assert fold_number("2,50") == ["2.50"]
    assert "2.5" in other_ways("2.50")
    assert "25" not in other_ways("2.5")
    assert [*other_ways("1.2.3")] == []


@pytest.mark.parametrize(
    ("text", "lacked"),
    [
        ("Sugar-free gum", ["¬sugar"]),
        ("Gum, no added sugar", ["¬sugar"]),
        ("Free of milk and eggs", ["¬milk", "¬eggs"]),
        ("Non-alcoholic beer", ["¬alcoholic"]),
        ("Nike Free", ["~nike"]),
        ("Free gum", []),
        ("No. 5", []),
        ("No", []),
    ],
)
def test_what_a_text_says_is_lacking(text: str, lacked: list[str]) -> None:
    folded = [token.folded for token in tokens(text)]
    lacks = find_lacks(list(words(text)))
    assert [lack.sign + folded[lack.place] for lack in lacks] == lacked
