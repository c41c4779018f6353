"""BM25F over fields: values, parts, and order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from index.documents.bm25 import LENGTH, SATURATION, Alternative, Lexical, Postings

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


def test_parts_of_fields_and_words_add_up(shop: Lexical) -> None:
    words, weights = [RED, SHIRT], {"title": 3.0}
    scores = shop.scores(words, weights)
    everything = np.arange(3)
    parts = [shop.shares(everything, word, weights) for word in words]
    total = sum(share for part in parts for share in part.values())
    assert total.tolist() == pytest.approx(scores.gains.sum(0).tolist())
    assert shop.shares(np.array([0]), SHIRT, weights).keys() == {"title", "text"}


def test_whole_field_is_one_of_the_words_and_no_more(shop: Lexical) -> None:
    assert {name: mask.tolist() for name, mask in shop.whole([RED, SHIRT], 2, {}).items()} == {
        "title": [True, False, False]
    }
    assert shop.whole([RED], 1, {}) == {}
    assert shop.whole([RED, SHIRT], 2, {"title": 0.0}) == {}


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
    assert (lexical.spelling("shirt"), lexical.spelling("red")) == ("shïrt", "red")
    for _ in range(2):
        lexical.add({"title": "red shirt"})
    assert lexical.spelling("shirt") == "shirt"


def test_fields_of_other_documents_cost_a_document_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise all keys of others would be looked at."""
    added, add = list[int](), Postings.add
    monkeypatch.setattr(
        Postings,
        "add",
        lambda self, number, words: added.append(number) or add(self, number, words),
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
    asked, frequencies = list[str](), Postings.frequencies
    monkeypatch.setattr(
        Postings,
        "frequencies",
        lambda self, term, total: asked.append(term) or frequencies(self, term, total),
    )
    lexical.add({"title": "blue"})
    lexical.scores([[Alternative("blue")]], {})
    assert asked == ["blue"], "a search looks only at the fields that have its words"


def test_a_field_of_few_documents_weighs_as_if_the_others_had_it_empty(shop: Lexical) -> None:
    shop.add({"title": "Green hat"})
    shop.add({"title": "Red hat", "text": "red"})
    scores = shop.scores([RED], {"title": 0.0})
    average = (4 + 2 + 1) / 5
    frequency = 1 / (1 - LENGTH + LENGTH * 1 / average)
    expected = shop.idf("red") * frequency / (SATURATION + frequency)
    assert scores.gains[0].tolist() == pytest.approx([0, 0, 0, 0, expected])
