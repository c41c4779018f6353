import numpy as np
import pytest

from training.evaluation.reliability import BINS, best_threshold, draw, reliability


def test_the_error_by_hand():
    found = reliability(np.array([0.2, 0.2, 0.9, 1.0]), np.array([False, True, True, True]))
    # Bins: 0.2 (two pairs, half true), 0.9 and 1.0 (both true); (2 · 0.3 + 0.1 + 0) / 4.
    assert found.error == pytest.approx(0.175)
    assert [one.pairs for one in found.bins] == [2, 1, 1]
    assert (found.pairs, found.share) == (4, 0.75)


def test_probabilities_that_happen_have_no_error():
    probability = np.repeat(np.linspace(0.05, 0.95, 10), 1000)
    truth = np.tile(np.arange(1000) / 1000, 10) < probability
    found = reliability(probability, truth)
    assert found.error < 1e-3
    assert len(found.bins) <= BINS


def test_probabilities_that_are_no_numbers_have_no_error_of_0():
    with pytest.raises(ValueError, match="no numbers"):
        reliability(np.array([0.2, np.nan]), np.array([False, True]))


def test_the_best_threshold_would_rather_keep_than_lose():
    probability = np.array([0.9, 0.8, 0.7, 0.6, 0.1])
    truth = np.array([True, False, False, True, False])
    assert best_threshold(probability, truth) == 0.6
    truth = np.array([True, False, False, False, False])
    assert best_threshold(probability, truth) == 0.9


def test_curves_are_drawn_with_their_names():
    curve = reliability(np.array([0.2, 0.9]), np.array([False, True]))
    drawn = draw({"val": curve, "a & b": curve})
    assert drawn.startswith("<svg")
    assert drawn.count("<circle") == 2 * len(curve.bins)
    assert "a &amp; b: error" in drawn
