"""Words of other languages are found in other forms, without accents too."""

from __future__ import annotations

import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.documents.languages.english import ENGLISH
from index.documents.languages.snowball import NAMES, find_language
from index.products.query import read_text
from index.products.ranking import rank
from index.products.requests import ProductRequest


def documents_of(code: str, *titles: str, **synonyms: tuple[str, ...]) -> Documents:
    documents = Documents(synonyms, find_language(code))
    documents.add([ItemRow(at + 1, title, {"title": title}, ()) for at, title in enumerate(titles)])
    return documents


def search(documents: Documents, text: str) -> list[str]:
    found = rank(documents, ProductRequest(text=read_text(text, documents)), {})
    return [hit.id for hit in found.hits]


@pytest.mark.parametrize(
    ("code", "title", "texts"),
    [
        ("de", "Rote Schuhe für Damen", ["schuh", "SCHUHE", "roter Schuh", "Schuhen für die Dame"]),
        ("de", "Große Häuser aus Holz", ["Haus", "grosses haus", "großes Häuschen aus Holz"]),
        ("de", "Müller Müsli", ["muller", "mueller", "MÜLLER müsli", "musli"]),
        ("fr", "Chaussures brodées", ["chaussure", "brodé", "chaussures brodees", "une chaussure"]),
        ("es", "Zapatos para niños", ["zapato", "nino", "niño", "zapatos de niños"]),
        ("es", "Canción de cuna", ["canciones", "cancion"]),
        ("ru", "Красные туфли", ["красный", "туфлями", "красная туфля"]),
        ("ru", "Ёлка зелёная", ["елки", "ёлка", "зеленая"]),
        ("tr", "Deri Çanta", ["çanta", "canta", "çantalar", "CANTA", "ÇANTALAR"]),
        ("tr", "Kadınlar için kırmızı elbise", ["kadın", "KADIN", "kadin", "kirmizi", "elbiseler"]),
        ("tr", "IŞIK lamba", ["ışık", "isik", "IŞIK", "lambalar"]),
        ("nl", "Rode tassen", ["tas", "rode tas"]),
        ("hi", "लाल किताबें", ["किताब"]),
        ("ar", "الكتاب الجديد", ["كتاب"]),
        ("und", "Rote Schuhe", ["schuhe", "rote"]),
    ],
)
def test_titles_are_found_by_words_in_other_forms(code: str, title: str, texts: list[str]) -> None:
    documents = documents_of(code, title, "xyz 1")
    assert {text: search(documents, text) for text in texts} == {text: [title] for text in texts}


def test_words_without_a_language_are_not_stemmed() -> None:
    assert search(documents_of("und", "Rote Hemden", "xyz"), "hemd") == []


def test_the_typed_form_comes_first() -> None:
    documents = documents_of("de", "Tasche", "Taschen")
    assert search(documents, "taschen") == ["Taschen", "Tasche"]
    assert search(documents, "tasche") == ["Tasche", "Taschen"]


def test_a_word_counts_the_same_with_and_without_its_accents() -> None:
    documents = documents_of("tr", "çanta", "canta")
    read = rank(documents, ProductRequest(text=read_text("canta", documents)), {})
    first, second = (hit.score for hit in read.hits)
    assert first == pytest.approx(second)


def test_function_words_of_the_language_are_left_out() -> None:
    documents = documents_of("de", "Schuhe für Damen", "Jacke für Herren")
    words = documents.wording().read("die Schuhe für die Dame")
    assert [(word.start, word.end) for word in words] == [(4, 10), (19, 23)]


def test_synonyms_hold_in_any_letters() -> None:
    documents = documents_of("de", "Grüne Mütze", "Schal", kappe=("mutze",), mutze=("kappe",))
    assert search(documents, "Kappe") == ["Grüne Mütze"]


def test_negating_words_are_named_and_only_a_minus_leaves_out() -> None:
    documents = documents_of("de", "Tasche aus Leder", "Tasche aus Stoff")
    text = read_text("Tasche ohne Leder", documents)
    assert "ohne" in " ".join(text.notes)
    assert text.refused == ()
    assert search(documents, "Tasche -Leder") == ["Tasche aus Stoff"]


def test_a_portuguese_article_negates_nothing() -> None:
    documents = documents_of("pt", "Bolsa no ombro", "Bolsa")
    assert search(documents, "bolsa no ombro")[0] == "Bolsa no ombro"


def test_a_named_lack_comes_last_and_is_kept_by_a_minus() -> None:
    documents = documents_of("de", "Joghurt mit Zucker", "Joghurt ohne Zucker")
    assert search(documents, "Zucker") == ["Joghurt mit Zucker", "Joghurt ohne Zucker"]
    assert search(documents, "Joghurt -Zucker") == ["Joghurt ohne Zucker"]


def test_long_misspelt_words_are_corrected() -> None:
    documents = documents_of("de", "Sonnenbrille", "Rose")
    assert search(documents, "Sonenbrille") == ["Sonnenbrille"]
    assert search(documents, "Hose") == []


def test_every_language_of_the_list_leaves_names_of_models_as_they_are() -> None:
    for code in NAMES:
        language = find_language(code)
        assert language.stem(language.fold("a1")) == "a1"
    assert find_language("en") is ENGLISH


def test_an_unknown_language_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no language 'xx'; there are ar, ca,.* yi"):
        find_language("xx")
