"""Captions' probabilities are right, with a threshold of guesses."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from models import checkpoint
from models.captioners import attentive
from models.captions.calibration import CaptionCalibration
from models.checkpoint import Checkpoint
from training.captioners.calibration import RIGHT, JudgedCaptions, calibrate, choose_threshold, fit
from training.runs.folder import RunPlace
from training.runs.progress import silent

START = CaptionCalibration((0.0,) * 5, 0.0, "c0104a5000000000", frozenset({"dog"}))
TRUTH = np.array([0.5, 1.0, 4.0, -0.8, 0.3])


@pytest.fixture
def known():
    random = np.random.default_rng(0)
    features = np.column_stack([random.normal(size=(20_000, 4)), np.ones(20_000)])
    return JudgedCaptions(features, random.random(20_000) < 1 / (1 + np.exp(-features @ TRUTH)))


def test_a_fit_finds_the_coefficients_that_made_the_truth(known):
    found = fit(known, START)
    assert found.coefficients == pytest.approx(TRUTH, abs=0.15)
    assert (found.matcher, found.things) == (START.matcher, START.things)
    curve, shares = known.measure(found)
    assert curve.error < 0.02
    assert shares["sure_right"] == pytest.approx(RIGHT, abs=0.001)
    assert 0.9 < shares["right_sure"] < 1


def test_captions_of_several_sets_of_photos_are_fitted_together(known):
    parts = [known.select(range(15_000)), known.select(range(15_000, 20_000))]
    joined = JudgedCaptions.join(parts)
    assert np.array_equal(joined.features, known.features)
    assert np.array_equal(joined.right, known.right)


def test_the_threshold_is_the_least_from_which_on_enough_are_right():
    right = np.array([True, False, True, True])
    assert choose_threshold(np.array([0.9, 0.1, 0.8, 0.2]), right) == 0.1  # 3 of 4
    assert choose_threshold(np.array([0.9, 0.95, 0.8, 0.2]), right) == 0.2
    with pytest.raises(ValueError, match="at no probability are 70% of the captions right"):
        choose_threshold(np.array([0.2, 0.9]), np.array([True, False]))


def test_a_calibration_is_written_beside_the_weights(tmp_path):
    torch.manual_seed(0)
    image = {"name": "regions_in_context", "options": {"views": ("lite0@64",), "embedding": 8}}
    sizes = {"joint": 8, "embedding": 8, "hidden": 8, "attention": 8}
    model = attentive.Model(attentive.Config(("a", "dog"), image, **sizes))
    file, out = tmp_path / "captioner.safetensors", tmp_path / "calibrated.safetensors"
    checkpoint.save(file, "captioners", "attentive", model, {})
    before = checkpoint.load(file)
    assert before.captions is None
    made = replace(START, unsure_below=0.4, facts={"data": "few"})
    checkpoint.calibrate_captions(file, out, made)
    after = checkpoint.load(out)
    assert after.captions == made
    assert after.fingerprint == before.fingerprint


def test_a_calibrated_matcher_is_needed(corpus, tmp_path):
    captioner = Checkpoint("captioners", "attentive", None, "2a3e500000000000", {})
    with pytest.raises(ValueError, match="give one by --matcher"):
        calibrate(captioner, None, [corpus], RunPlace(tmp_path, tmp_path), silent)
