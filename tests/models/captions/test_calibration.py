"""Probabilities of captions: a worked value, and features."""

from __future__ import annotations

import math

import pytest

from models.captions.calibration import CaptionCalibration, log_odds
from models.registry import Caption, CaptionWord
from models.text.parsing import parse_trees

CALIBRATION = CaptionCalibration(
    (0.5, 1.0, 3.0, -0.5, 0.2), 0.5, "c0104a5000000000", frozenset({"dog", "ball", "grass"})
)


def test_the_probability_is_that_of_the_logistic_model():
    words = tuple(CaptionWord(word, -0.5) for word in ["a", "dog", "chases", "a", "ball"])
    caption = Caption(words, -3.0, familiarity=0.4)
    (tree,) = parse_trees([caption.text])
    found = CALIBRATION.features(caption, tree, 0.8)
    assert found == (pytest.approx(math.log(4)), -0.5, 0.4, 2.0, 1.0)
    logit = 0.5 * math.log(4) - 0.5 + 3 * 0.4 - 0.5 * 2 + 0.2
    assert CALIBRATION.probability(found) == pytest.approx(1 / (1 + math.exp(-logit)))


def test_nothing_is_known_of_captions_whose_photo_may_be_unfamiliar():
    (tree,) = parse_trees(["a dog"])
    assert CALIBRATION.features(Caption((), 0.0), tree, 0.8) is None


def test_words_that_name_things_are_counted_in_the_singular_and_those_of_compounds_once():
    texts = ["a tennis ball", "dogs in front of the grass", "very red"]
    named = [[word.text for word in CALIBRATION.find_things(tree)] for tree in parse_trees(texts)]
    assert named == [["ball"], ["dogs", "grass"], []]


def test_log_odds_are_finite():
    assert math.isfinite(log_odds(0.0))
    assert math.isfinite(log_odds(1.0))
    assert log_odds(0.5) == 0
