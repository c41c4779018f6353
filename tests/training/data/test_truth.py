from pathlib import Path

from training.data.corpus import Example
from training.data.truth import PairTruth

SHOP = [
    Example("a", Path("a.jpg"), ("shirt", "blue shirt")),
    Example("b", Path("b.jpg"), ("shirt", "red shirt")),
    Example("c", Path("c.jpg"), ("shoe", "nike"), weights=(1.0, 3.0)),
]


def test_a_sentence_is_true_of_every_photo_with_an_equal_one():
    weights = PairTruth(SHOP).weights([0, 1, 2], [0, 3, 5])  # shirt, red shirt, nike
    assert weights.tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 3]]


def test_equal_sentences_are_one():
    assert PairTruth(SHOP).distinct == [0, 1, 3, 4, 5]
