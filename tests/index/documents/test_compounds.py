"""Compounds are found by their last word."""

from __future__ import annotations

import pytest

from index.catalog.views import ItemRow
from index.documents.compounds import Compounds
from index.documents.documents import Documents
from index.documents.languages.snowball import find_language
from index.products.query import read_text
from index.products.ranking import rank
from index.products.requests import ProductRequest

GERMAN = (
    "Damenjacke Damen Jacken Regenjacke Regenhose Lederhosen Leder praktisch praktische Tisch "
    "Küche Küchentische Garten Gartentisch automatisch Automatik Kleid Kleiderschränke Schrank "
    "Fahrrad Kinder Kinderfahrradhelm Oliven Olivenöl Öl Kamille Kamillentee Sicherheit "
    "Sicherheitsschuhe Schule Schulheft Durchmesser Durchlauf Küchenmesser Reise Preise Band "
    "Verband Verkleidung Apfel Apfelkuchen Akku Akkuschrauber Schraube Küchenschrauben "
    "Thunfisch Hafermilch Milch"
)


@pytest.mark.parametrize(
    ("word", "compounds"),
    [
        ("jacke", {"damenjacke", "regenjacke"}),
        ("hose", {"regenhose", "lederhosen"}),
        ("milch", {"hafermilch"}),
        ("tisch", {"küchentische", "gartentisch"}),  # not "praktisch", "automatisch"
        ("schrank", {"kleiderschränke"}),
        ("helm", {"kinderfahrradhelm"}),
        ("öl", {"olivenöl"}),
        ("tee", {"kamillentee"}),
        ("schuh", {"sicherheitsschuhe"}),
        ("heft", {"schulheft"}),
        ("messer", {"küchenmesser"}),  # not "Durchmesser"
        ("kuchen", {"apfelkuchen"}),
        ("küche", set()),
        ("schraube", {"küchenschrauben"}),  # not "Akkuschrauber"
        ("reise", set()),
        ("band", set()),
        ("leder", set()),  # a "Lederhose" is a Hose
    ],
)
def test_compounds_end_with_a_form_of_the_word_behind_a_part(
    word: str, compounds: set[str]
) -> None:
    german = find_language("de")
    sure, guessed = Compounds(map(german.fold, GERMAN.split()), german).list_of(word, known=True)
    assert {*sure, *guessed} == compounds


@pytest.mark.parametrize(
    ("code", "words", "word", "compound"),
    [
        ("sv", "Skor Barn Barnskor", "skor", "barnskor"),
        ("sv", "Ört Örtte", "te", "örtte"),
        ("nl", "Regen Regenjas", "jas", "regenjas"),
        ("nl", "Geit Geitenkaas", "kaas", "geitenkaas"),
        ("da", "Børn Børnecykel", "cykel", "børnecykel"),
    ],
)
def test_compounds_of_other_languages(code: str, words: str, word: str, compound: str) -> None:
    language = find_language(code)
    compounds = Compounds(map(language.fold, words.split()), language)
    assert compounds.list_of(word, known=True) == ([compound], [])


def test_an_unknown_word_is_taken_for_the_end_of_known_ones() -> None:
    german = find_language("de")
    compounds = Compounds(map(german.fold, GERMAN.split()), german)
    assert compounds.list_of("fisch", known=True) == ([], [])
    assert compounds.list_of("fisch", known=False) == ([], ["thunfisch"])
    assert compounds.list_of("h", known=True) == ([], [])


def documents_of(code: str, *titles: str, **synonyms: tuple[str, ...]) -> Documents:
    documents = Documents(synonyms, find_language(code))
    documents.add([ItemRow(at + 1, title, {"title": title}, ()) for at, title in enumerate(titles)])
    return documents


def search(documents: Documents, text: str) -> list[str]:
    request = ProductRequest(text=read_text(text, documents), limit=100)
    return [hit.id for hit in rank(documents, request, {}).hits]


def test_the_word_itself_comes_before_its_compounds() -> None:
    documents = documents_of("de", "Küche weiß", "Stehlampe", "Lampe dimmbar", "steh", "Wohnküche")
    assert search(documents, "lampe") == ["Lampe dimmbar", "Stehlampe"]
    assert search(documents, "lampen -stehlampe") == ["Lampe dimmbar"]
    assert search(documents, "-lampe") == ["Küche weiß", "Wohnküche", "steh"]


def test_a_refused_word_refuses_its_sure_compounds_alone() -> None:
    documents = documents_of("de", "Wein", "Schwein", "Rot", "Rotwein", "Tisch ohne Rotwein")
    assert search(documents, "-wein") == ["Rot", "Schwein", "Tisch ohne Rotwein"]
    assert search(documents, "wein")[0] == "Wein"


def test_a_word_without_its_first_letter_is_corrected() -> None:
    documents = documents_of("de", "Schraube M4", "Akku", "Akkuschraube")
    assert search(documents, "chraube")[0] == "Schraube M4"


def test_all_compounds_of_a_word_are_found() -> None:
    beginnings = [
        f"{first}{last}" for first in ("kar", "mon", "sel") for last in "abcdefghijklmnopqrs"
    ]
    titles = [*beginnings, *(f"{beginning}jacke" for beginning in beginnings)]
    assert len(search(documents_of("de", *titles), "jacke")) == len(beginnings)


def test_synonyms_have_compounds_too() -> None:
    documents = documents_of("de", "Jacke", "Regen", "Regenjacke", parka=("jacke",))
    assert search(documents, "parka") == ["Jacke", "Regenjacke"]


def test_two_words_are_looked_up_joined_by_a_link() -> None:
    documents = documents_of("de", "Gesichtscreme 50 ml", "Nusscreme", "Nuss")
    assert search(documents, "gesicht creme")[0] == "Gesichtscreme 50 ml"


def test_a_misspelling_of_another_word_is_no_end_of_one() -> None:
    documents = documents_of("de", "Thunfisch in Öl", "Tisch", "Handcreme")
    assert search(documents, "fisch") == ["Thunfisch in Öl"]


def test_languages_that_join_no_words_have_none() -> None:
    assert search(documents_of("en", "Bookcase", "case", "book"), "case") == ["case"]
