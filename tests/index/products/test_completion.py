"""Completions of typed texts, by their items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents, naming_fields
from index.documents.languages.snowball import find_language
from index.products.completion import Completion, complete


@pytest.fixture
def documents() -> Documents:
    titles = ["Nike shirt", "Nike shoe", "Puma shoes", "Puma shorts", "Puma shoe"]
    return documents_of([{"title": title} for title in titles])


def documents_of(metadata: list[dict[str, Any]], *sentences: str) -> Documents:
    documents = Documents()
    documents.add(
        [ItemRow(at + 1, f"{at}", fields, sentences) for at, fields in enumerate(metadata)]
    )
    return documents


def texts(documents: Documents, typed: str) -> list[str]:
    return [completion.text for completion in complete(documents, typed, 10)]


def test_words_are_ranked_by_the_items_they_find(documents: Documents) -> None:
    assert complete(documents, "sho", 5) == [Completion("shoe", 3), Completion("shorts", 1)]


def test_umlauts_may_be_typed_as_two_letters() -> None:
    documents = Documents(language=find_language("de"))
    titles = ["Kühlschrank 180 l", "Bücherregal Eiche"]
    documents.add([ItemRow(at + 1, f"{at}", {"title": t}, ()) for at, t in enumerate(titles)])
    for typed in ("kühl", "kuehl", "kuhl", "kuehlschrank"):
        assert texts(documents, typed)[0].startswith("kühlschrank"), typed
    for typed in ("büch", "buech", "buecherregal ei"):
        assert "bücherregal eiche" in texts(documents, typed), typed


def test_words_before_count_too(documents: Documents) -> None:
    assert complete(documents, "nike sh", 5) == [
        Completion("nike shirt", 1),
        Completion("nike shoe", 1),
    ]
    assert texts(documents, "puma shi") == []


def test_words_are_completed_as_they_are_written(documents: Documents) -> None:
    documents.add([ItemRow(6, "AB-12", {"title": "Café T-shirts for women's feet"}, ())])
    for typed, text in (
        ("ab", "ab-12"),
        ("ab-1", "ab-12"),
        ("AB1", "ab-12"),
        ("caf", "café"),
        ("wom", "women"),
    ):
        assert complete(documents, typed, 5) == [Completion(text, 1)]
    for typed in ("T-sh", "tsh"):
        assert complete(documents, typed, 5) == [Completion("t-shirts", 1)]


def test_words_that_most_items_have_come_first_of_one_stem(documents: Documents) -> None:
    documents.add([ItemRow(6, "a", {"title": "Oak book"}, ()), ItemRow(7, "b", {}, ("bookish",))])
    assert texts(documents, "oak bo") == ["oak book"]
    assert texts(documents, "zzz") == texts(documents, "") == []


def test_signs_without_a_letter_are_no_suggestion() -> None:
    brands = ["Jäger & Sohn", "Ahorn & Co"]
    documents = documents_of([{"title": "Oak", "brand": brand} for brand in [*brands, "&"]])
    assert texts(documents, "a") == ["ahorn & co"]
    assert texts(documents, "jäger a") == texts(documents, "jäger & s") == ["jäger & sohn"]


def test_no_more_than_asked_for_and_none_that_find_nothing(documents: Documents) -> None:
    assert complete(documents, "puma s", 1) == [Completion("puma shoe", 2)]
    documents.retire(np.array([4]))
    assert complete(documents, "shor", 5) == []
    assert complete(documents, "", 5) == []


PROSE = "A fine drink that fits all of your days and foams well with coffee or tea of any kind."


def test_what_prose_says_by_the_way_is_no_suggestion() -> None:
    milk = {"title": "Fresh milk", "kind": "Milk", "details": PROSE, "description": "Foams."}
    documents = documents_of([milk, {"title": "Fat milk", "kind": "Cream"}], "Fills you up")
    assert texts(documents, "milk f") == ["milk fat", "milk fresh"]
    assert texts(documents, "fo") == texts(documents, "coff") == []
    assert naming_fields(documents_of([{"details": PROSE}], "Fills you up")) != []


def test_addresses_and_what_all_items_share_are_no_suggestions() -> None:
    shared = {"license": "MIT", "title": "Oak"}
    pages = [shared | {"page": f"https://shop.example/{number}"} for number in range(2)]
    assert texts(documents_of(pages), "mi") == texts(documents_of(pages), "sh") == []
    assert texts(documents_of(pages), "o") == ["oak"]
    assert texts(documents_of([{"brand": "Acme"}]), "ac") == ["acme"]


def test_values_of_several_words_are_suggested_as_a_whole() -> None:
    kinds = ["Sour cream", "Sour cream", "Sour milk", "Oat", "T-bar long"]
    kinds += ["Of more words than one types"]
    documents = documents_of([{"kind": kind, "brand": f"B{kind[0]}"} for kind in kinds])
    assert complete(documents, "s", 5) == [
        Completion("sour", 3),
        Completion("sour cream", 2),
        Completion("sour milk", 1),
    ]
    assert texts(documents, "sour c") == ["sour cream"]
    assert texts(documents, "bs so") == ["bs sour", "bs sour cream", "bs sour milk"]
    assert texts(documents, "bo so") == []
    assert texts(documents, "tb") == ["t-bar long"]
    assert texts(documents, "mor") == ["more"]
    assert texts(documents, "milk s") == ["milk sour"]


def test_a_longer_text_stands_for_one_that_finds_no_more() -> None:
    documents = documents_of([{"kind": "Granny Smith"}, {"kind": "Grape"}])
    assert texts(documents, "gr") == ["granny smith", "grape"]
    documents.retire(np.array([1]))
    assert texts(documents, "gr") == ["grape"]


def test_values_of_a_key_that_has_very_many_are_left_to_their_words(monkeypatch) -> None:
    documents = documents_of([{"kind": "Sour cream"}, {"kind": "Sour milk"}])
    monkeypatch.setattr("index.products.completion.MOST_VALUES", 1)
    assert texts(documents, "s") == ["sour"]


def test_a_long_text_is_read_once(documents: Documents, monkeypatch) -> None:
    masks: list[object] = []
    having_any = documents.lexical.having_any
    monkeypatch.setattr(
        documents.lexical, "having_any", lambda *asked: masks.append(asked) or having_any(*asked)
    )
    typed = "puma " * 100
    assert texts(documents, typed + "sh") == [typed + "shoe", typed + "shorts"]
    assert len(masks) < 110


def test_a_word_that_no_item_has_ends_the_look_up(documents: Documents) -> None:
    assert texts(documents, "zzzzzz puma sh") == []


def test_few_values_of_all_keys_together_are_counted(monkeypatch) -> None:
    items = [{f"kind {key}": f"Sour {key} x{at}" for key in range(9)} for at in range(9)]
    documents, counted = documents_of(items), list[str]()
    wording = documents.wording()
    read = wording.read
    monkeypatch.setattr(wording, "read", lambda *asked: counted.append(asked[0]) or read(*asked))
    assert len(complete(documents, "sour", 100)) == 17
    assert len(counted) <= 17


def test_values_that_come_later_are_suggested_too(documents: Documents) -> None:
    assert texts(documents, "roa") == []
    documents.add([ItemRow(6, "a", {"title": "Road bike"}, ())])
    assert texts(documents, "roa") == texts(documents, "road ") == ["road bike"]


def test_the_last_words_begin_a_value() -> None:
    sauce = {"kind": "Hot red chili sauce", "brand": "Acme"}
    documents = documents_of([sauce, {"kind": "Oil", "brand": "Bo"}])
    for typed in ("acme hot", "acme hot red chili sa", "acme  hot red ch"):
        assert " ".join(texts(documents, typed)[0].split()) == "acme hot red chili sauce"
