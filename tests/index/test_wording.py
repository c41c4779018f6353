"""What words of a query are taken for."""

from __future__ import annotations

import pytest

from index.lexical import Lexical
from index.wording import Wording, parse_synonyms

TITLES = [
    "Oak chair",
    "Linen pillow",
    "Book case",
    "Bookshelf of oak",
    "Women's T-Shirts AB-12",
    "Chairs",
    "Grey rug",
    "Rug with a color",
    "Chili sauce",
    "Coaches whistle",
]


@pytest.fixture
def wording() -> Wording:
    lexical = Lexical()
    for title in TITLES:
        lexical.add({"title": title})
    return Wording(lexical, parse_synonyms(["couch, sofa, chair  # to sit on", "# nothing"]))


def looked_up(wording: Wording, text: str) -> list[list[str]]:
    return [[one.term for one in word.alternatives] for word in wording.read(text)]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("chiar", "chair"),
        ("pilow", "pillow"),
        ("bookcase", "book case"),
        ("womens shirt", "womens shirt"),
        ("a bookshlef", "a bookshelf"),
        ("oak", "oak"),
        ("xyzzy", "xyzzy"),
        ("ab13", "ab13"),
        ("gray colour", "grey color"),
        ("child", "child"),  # an English word, and no misspelling of chili
        ("couches", "couches"),
    ],
)
def test_typos_and_compounds_are_corrected(wording: Wording, typed: str, meant: str) -> None:
    assert wording.corrected(typed, wording.read(typed)) == meant


def test_function_words_are_left_out(wording: Wording) -> None:
    assert looked_up(wording, "a chair of oak") == [["chair", "couch", "sofa"], ["oak"]]


def test_two_words_are_looked_up_joined_as_well(wording: Wording) -> None:
    assert looked_up(wording, "t shirts") == [["t", "tshirt"], ["shirt", "tshirt"]]
    assert looked_up(wording, "book shelf") == [["book", "bookshelf"], ["shelf", "bookshelf"]]


def test_synonym_finds_what_the_word_itself_does_not(wording: Wording) -> None:
    assert looked_up(wording, "sofa") == [["sofa", "couch", "chair"]]
    assert wording.read("sofa")[0].spelling is None


def test_variant_is_known_by_its_synonyms_too():
    lexical = Lexical()
    lexical.add({"title": "Silk nightwear"})
    wording = Wording(lexical, parse_synonyms(["pyjamas, nightwear"]))
    (word,) = wording.read("pajamas")
    assert (word.spelling, word.synonyms) == ("pyjamas", ("nightwear",))
    assert looked_up(wording, "pajamas") == [["pyjama", "nightwear"]]


def test_completions_come_by_the_number_of_documents(wording: Wording) -> None:
    assert wording.complete("oak bo", 5, ["title"]) == ["oak book", "oak bookshelf"]
    assert wording.complete("cha", 1, ["title"]) == ["chair"]
    assert wording.complete("", 5, ["title"]) == []
    assert wording.complete("zzz", 5, ["title"]) == []
    assert wording.complete("cha", 1, []) == []
