"""Words of a query and their corrections."""

from __future__ import annotations

import pytest

from index.catalog.views import ItemRow
from index.documents.corrections import MOST_CORRECTED
from index.documents.documents import Documents
from index.documents.query_words import Wording
from index.documents.thesaurus import parse_synonyms

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


def wording_of(titles: list[str], *synonyms: str) -> Wording:
    documents = Documents(parse_synonyms(synonyms))
    documents.add([ItemRow(at + 1, "", {"title": title}, ()) for at, title in enumerate(titles)])
    return documents.wording()


@pytest.fixture
def wording() -> Wording:
    return wording_of(TITLES, "couch, sofa, chair  # to sit on", "# nothing")


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
    assert wording.correct(typed, wording.read(typed)) == meant


def test_function_words_are_left_out(wording: Wording) -> None:
    assert looked_up(wording, "a chair of oak") == [["chair"], ["oak"]]


def test_two_words_are_looked_up_joined_as_well(wording: Wording) -> None:
    assert looked_up(wording, "book shelf") == [["book", "bookshelf"], ["shelf", "bookshelf"]]


def test_a_word_may_be_part_of_two_compounds() -> None:
    wording = wording_of(["bookcase", "casebook", "book", "case"])
    terms = looked_up(wording, "book case book")
    assert terms == [["book", "bookcas"], ["case", "bookcas", "casebook"], ["book", "casebook"]]


def test_a_word_longer_than_words_are_is_neither_corrected_nor_cut() -> None:
    wording = wording_of(["oak " + "x" * 200])
    (word,) = wording.read("y" + "x" * 200)
    assert word.spelling is None


def test_a_line_of_too_many_synonyms_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 2 .* has 101 words"):
        parse_synonyms(["sofa, couch", ", ".join(f"w{n}" for n in range(101))])


def test_synonym_finds_what_the_word_itself_does_not(wording: Wording) -> None:
    (word,) = wording.read("sofa")
    assert [one.term for one in word.alternatives] == ["chair"]
    assert (word.spelling, word.synonyms) == (None, ("couch", "chair"))


def test_a_word_of_several_groups_has_the_synonyms_of_all():
    wording = wording_of(["Sofa", "Couch", "Settee"], "sofa, couch", "couch, settee")
    assert looked_up(wording, "couch") == [["couch", "sofa", "sette"]]
    assert looked_up(wording, "sofa") == [["sofa", "couch"]]


@pytest.mark.parametrize("group", ["sofa, couch", "sofas, couches", "sofa, sofas, couch"])
def test_all_forms_of_a_word_have_its_synonyms(group: str) -> None:
    wording = wording_of(["Sofa", "Couch"], group)
    for typed in ("sofa", "sofas"):
        assert looked_up(wording, typed) == [["sofa", "couch"]]


def test_another_word_with_the_same_stem_has_none_of_them() -> None:
    wording = wording_of(["Cartoon", "Animals"], "animation, cartoon")
    assert looked_up(wording, "animal") == [["anim"]]
    assert looked_up(wording, "animations") == [["anim", "cartoon"]]


def test_variant_is_known_by_its_synonyms_too():
    wording = wording_of(["Silk nightwear"], "pyjamas, nightwear")
    (word,) = wording.read("pajamas")
    assert (word.spelling, word.synonyms) == ("pyjamas", ("nightwear",))
    assert looked_up(wording, "pajamas") == [["nightwear"]]


def test_of_equally_near_words_that_with_the_same_start_then_of_most_documents_is_taken():
    wording = wording_of(["boat", "boat", "coat", "coal", "coal", "coap"])
    assert wording.corrections("coak").spellings == {"coak": "coal"}
    assert wording.corrections("woat").spellings == {"woat": "boat"}


def test_words_with_digits_are_no_corrections_and_have_none():
    wording = wording_of(["chair1", "AB-12"])
    assert wording.corrections("chair ab13 1000x").spellings == {}


def test_so_many_misspelt_words_are_corrected_and_no_more(wording: Wording) -> None:
    words = [f"bookshelf{letter}" for letter in "abcdfghijklm"]
    corrections = wording.corrections(" ".join(words))
    assert not corrections.complete
    assert list(corrections.spellings) == words[:MOST_CORRECTED]
    assert wording.corrections(" ".join([*words[:MOST_CORRECTED] * 2, "oak sofa ab13"])).complete


def test_wording_is_that_of_its_moment():
    documents = Documents()
    documents.add([ItemRow(1, "a", {"title": "oak"}, ())])
    before = documents.wording()
    assert documents.wording() is before
    documents.add([ItemRow(2, "b", {"title": "pillow"}, ())])
    assert not before.has("pillow")
    assert documents.wording().has("pillow")


def test_words_begin_with_a_prefix(wording: Wording) -> None:
    assert wording.beginning("boo") == ["book", "bookshelf"]
    assert wording.beginning("zzz") == []
