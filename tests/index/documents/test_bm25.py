"""BM25F over fields: values, parts, and order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from index.documents.bm25 import SATURATION, Alternative, Lexical
from index.documents.postings import LENGTH, Postings

SHIRT, RED = [Alternative("shirt")], [Alternative("red")]


@pytest.fixture
def shop() -> Lexical:
    lexical = Lexical()
    lexical.add({"title": "Red shirt", "text": "A shirt of cotton"})
    lexical.add({"title": "Blue shirts"})
    lexical.add({"title": "Red shoe", "text": "for running"})
    return lexical


def test_value_is_that_of_the_formula(shop: Lexical) -> None:
    weights = {"title": 2.0, "text": 0.5}
    scores = shop.scores([SHIRT], weights)
    idf = math.log1p((3 - 2 + 0.5) / (2 + 0.5))
    title = 2.0 / (1 - LENGTH + LENGTH * 2 / 2)
    text = 0.5 / (1 - LENGTH + LENGTH * 4 / 2)
    both = title + text
    assert scores.gains[0].tolist() == pytest.approx(
        [idf * both / (SATURATION + both), idf * title / (SATURATION + title), 0.0]
    )
    assert scores.bound == pytest.approx(idf)


def test_a_rarer_synonym_counts_no_more_than_the_word(shop: Lexical) -> None:
    word = [Alternative("red"), Alternative("blue", 0.9)]
    scores = shop.scores([word], {})
    assert scores.gains[0, 0] > scores.gains[0, 1] > 0
    assert scores.bound == pytest.approx(shop.idf(Alternative("red")))
    assert shop.shares(np.array([1]), word, {})["title"] == pytest.approx(scores.gains[0, 1])


def test_parts_of_fields_and_words_add_up(shop: Lexical) -> None:
    words, weights = [RED, SHIRT], {"title": 3.0}
    scores = shop.scores(words, weights)
    everything = np.arange(3)
    parts = [shop.shares(everything, word, weights) for word in words]
    total = sum(share for part in parts for share in part.values())
    assert total.tolist() == pytest.approx(scores.gains.sum(0).tolist())
    assert shop.shares(np.array([0]), SHIRT, weights).keys() == {"title", "text"}


def test_whole_field_is_one_of_the_words_and_no_more(shop: Lexical) -> None:
    shop.add({"title": "Shirt, red as can be", "text": "Red, red shirts"})
    shop.add({"title": "Red shirt of silk"})
    every = np.arange(5)
    whole = {name: rows.tolist() for name, rows in shop.whole(every, [RED, SHIRT], {}).items()}
    assert whole == {"title": [0, 3]}
    assert shop.whole(every, [RED], {}) == {}
    assert shop.whole(every, [RED, SHIRT], {"title": 0.0}) == {}
    assert shop.whole(every[1:3], [RED, SHIRT], {}) == {}


def test_relative_score_is_between_0_and_1_and_best_for_all_words(shop: Lexical) -> None:
    relative = shop.scores([RED, SHIRT], {}).relative
    assert np.argmax(relative) == 0
    assert 0 < relative.min() < relative.max() < 1


def test_best_alternative_of_a_word_counts(shop: Lexical) -> None:
    either = [Alternative("shoe"), Alternative("shirt", 0.5)]
    both = shop.scores([either], {}).gains[0]
    assert both[2] == shop.scores([[Alternative("shoe")]], {}).gains[0][2]
    assert both[1] == pytest.approx(shop.scores([SHIRT], {}).gains[0][1] / 2)


def test_field_of_weight_0_is_not_looked_at(shop: Lexical) -> None:
    assert shop.scores([[Alternative("cotton")]], {"text": 0.0}).gains.tolist() == [[0, 0, 0]]


def test_unknown_word_lowers_what_the_others_are_worth(shop: Lexical) -> None:
    known = shop.scores([RED], {}).relative[0]
    assert shop.scores([RED, [Alternative("quux")]], {}).relative[0] < known / 2


def test_field_that_comes_late_is_found(shop: Lexical) -> None:
    number = shop.add({"brand": "Acme", "title": "Hat"})
    gains = shop.scores([[Alternative("acm")]], {}).gains[0]
    assert np.flatnonzero(gains).tolist() == [number]


def test_a_word_is_spelled_as_most_documents_have_it():
    lexical = Lexical()
    lexical.add({"title": "red shïrt"})
    lexical.add({"title": "t-shirt of cotton"})
    spelling = lexical.vocabulary.spelling
    assert (spelling("tshirt"), spelling("red")) == ("t-shirt", "red")
    assert spelling("shirt") == "shïrt"
    for _ in range(2):
        lexical.add({"title": "red shirt"})
    assert spelling("shirt") == "shirt"


def test_fields_of_other_documents_cost_a_document_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all keys of others would be looked at."""
    added, add = list[int](), Postings.add
    monkeypatch.setattr(
        Postings,
        "add",
        lambda self, number, *words: added.append(number) or add(self, number, *words),
    )
    lexical = Lexical()
    for number in range(50):
        lexical.add({f"key {number} {other}": "red" for other in range(4)} | {"empty": ""})
    assert len(added) == 200
    assert lexical.mean_lengths().keys() == {
        f"key {number} {other}" for number in range(50) for other in range(4)
    }
    assert lexical.scores([RED], {}).gains.min() > 0
    assert lexical.having_any(RED, ["key 7 0", "none"]).tolist().count(True) == 1
    assert lexical.frequency("red", ["key 7 0", "none"]) == 1
    asked, counts = list[str](), Postings.counts
    monkeypatch.setattr(
        Postings,
        "counts",
        lambda self, forms, total: asked.append(forms[0][0]) or counts(self, forms, total),
    )
    lexical.add({"title": "blue"})
    lexical.scores([[Alternative("blue")]], {})
    assert asked == ["blue"], "a search looks only at the fields that have its words"


def test_a_field_of_few_documents_weighs_as_if_the_others_had_it_empty(shop: Lexical) -> None:
    shop.add({"title": "Green hat"})
    shop.add({"title": "Red hat", "text": "red"})
    scores = shop.scores([RED], {"title": 0.0})
    average = max((2 + 1 + 1) / 5, 1.0)
    frequency = 1 / (1 - LENGTH + LENGTH * 1 / average)
    expected = shop.idf(RED[0]) * frequency / (SATURATION + frequency)
    assert scores.gains[0].tolist() == pytest.approx([0, 0, 0, 0, expected])


def test_the_form_that_is_asked_for_counts_most(shop: Lexical) -> None:
    gains = shop.scores([[Alternative("shirt", form="shirts")]], {"text": 0.0}).gains[0]
    assert gains[1] > gains[0] > 0


def test_a_phrase_is_words_in_a_row(shop: Lexical) -> None:
    shop.add({"title": "Shirt red", "text": "a red, red shirt"})
    phrase = [Alternative("red shirt")]
    gains = shop.scores([phrase], {}).gains[0]
    assert np.flatnonzero(gains).tolist() == [0, 3]
    assert shop.shares(np.array([0, 3]), phrase, {}).keys() == {"title", "text"}
    assert shop.shares(np.array([3]), phrase, {}).keys() == {"text"}
    assert shop.count(phrase[0]) == 2
    assert shop.idf(phrase[0]) == math.log1p((4 - 2 + 0.5) / (2 + 0.5))
    assert not shop.scores([[Alternative("red hat")]], {}).gains.any()


def test_a_phrase_does_not_go_on_in_the_next_document() -> None:
    lexical = Lexical()
    lexical.add({"title": "one red"})
    lexical.add({"title": "shirt two"})
    lexical.add({"title": "red shirt"})
    assert lexical.having_any([Alternative("red shirt")], ["title"]).tolist() == [0, 0, 1]


def test_what_a_thing_lacks_counts_little_and_is_not_refused() -> None:
    lexical = Lexical()
    for title in ("Sugar-free gum", "Gum with sugar", "Gum, sugar free", "Sugar-free gum, sugar"):
        lexical.add({"title": title})
    sugar = [Alternative("sugar")]
    gains = lexical.scores([sugar], {}).gains[0]
    assert 0 < gains[0] < gains[1]
    assert lexical.mask_refused([sugar], {}).tolist() == [False, True, False, True]
    assert not lexical.mask_refused([sugar], {"title": 0.0}).any()
    assert lexical.mask_refused([sugar, [Alternative("gum")]], {}).tolist()[1]
    assert not lexical.mask_refused([sugar, [Alternative("mint")]], {}).any()


def test_a_code_is_found_as_a_whole_or_by_several_of_its_parts() -> None:
    lexical = Lexical()
    lexical.add({"id": "AB-5"})
    lexical.add({"id": "5"})
    assert lexical.having_any([Alternative("5")], ["id"]).tolist() == [False, True]
    assert lexical.having_any([Alternative("ab 5")], ["id"]).tolist() == [True, False]
