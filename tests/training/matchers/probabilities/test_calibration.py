from dataclasses import replace

import numpy as np
import pytest
import torch

from models import checkpoint
from models.scores.calibration import Calibration, PairKind
from training.data.corpus import Corpus
from training.matchers.probabilities.calibration import (
    LEAST_DEVIATION,
    LabelledPairs,
    calibrate,
    fit,
    pick_evenly,
)
from training.matchers.probabilities.text_calibration import calibrate_texts
from training.runs.progress import silent


def test_a_fit_finds_the_coefficients_that_made_the_truth():
    random = np.random.default_rng(0)
    truth = np.array([1.5, -0.5, 0.0, -1.0])
    features = np.column_stack(
        [random.normal(size=(20_000, 2)), np.full(20_000, 7.0), np.ones(20_000)]
    )
    happened = random.random(20_000) < 1 / (1 + np.exp(-features @ truth))
    pairs = LabelledPairs(
        PairKind.TEXT_IN_PHOTO, torch.tensor(features).float(), happened, np.zeros(20_000, bool)
    )
    found = fit(pairs)
    assert found.tolist() == pytest.approx(truth, abs=0.08)
    assert float(pairs.features[:, 2].std()) < LEAST_DEVIATION
    assert found[2] == 0  # what never varies says nothing
    calibration = Calibration(torch.zeros(1, 2), torch.zeros(1, 2), torch.stack([found] * 3), 0.5)
    assert pairs.measure(calibration).error < 0.02


def test_examples_are_spread_over_all():
    assert pick_evenly(list(range(10)), 5, 0) == [0, 2, 4, 6, 8]
    assert pick_evenly(list(range(10)), 5, 1) == [1, 3, 5, 7, 9]
    assert pick_evenly([1, 2], 5, 0) == [1, 2]


@pytest.mark.timeout(300)
def test_a_matcher_is_calibrated_and_keeps_its_fingerprint(small_matcher, corpus, tmp_path):
    few = Corpus("few", {"train": corpus.split("train")[:20], "val": corpus.split("val")[:30]})
    loaded = checkpoint.load(small_matcher)
    made, told = calibrate(loaded.model, few, [few], silent)
    assert made.photos.shape == (20, loaded.model.dimension)
    assert 0 < made.weak_below < 1
    assert told["few val"].pairs == (
        told["few val, sentences"].pairs + told["few val, short texts"].pairs
    )
    assert all(0 <= one.error <= 1 for one in told.values())
    out = tmp_path / "calibrated.safetensors"
    checkpoint.calibrate(small_matcher, out, made)
    again = checkpoint.load(out)
    assert again.fingerprint == loaded.fingerprint
    assert again.calibration.weak_below == made.weak_below
    assert again.calibration.facts["data"] == "few"
    torch.testing.assert_close(again.calibration.photos, made.photos)
    earlier = replace(made, coefficients=made.coefficients[:2])
    completed, curves = calibrate_texts(replace(again, calibration=earlier), few, [few], silent)
    torch.testing.assert_close(completed.coefficients, made.coefficients)
    assert curves == {"few val, texts and texts": told["few val, texts and texts"]}
    with pytest.raises(ValueError, match="no calibration to complete"):
        calibrate_texts(loaded, few, [], silent)
    torch.testing.assert_close(again.calibration.coefficients, made.coefficients)
