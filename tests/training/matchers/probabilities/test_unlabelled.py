"""Probabilities without labels follow scores of chance."""

import math

import numpy as np
import pytest
import torch

from models import checkpoint
from models.scores.calibration import PairKind
from models.types import WHOLE_FRAME, FragmentBag, Span
from tests.training.commands import tessera
from training.matchers.probabilities.unlabelled import WORTH, Chance, Worth, calibrate_unlabelled

DIMENSION = 16


class SumOfMax:
    score = "sum_of_max"


def bags(count, fragments, seed, place, scale=1.0):
    random = torch.Generator().manual_seed(seed)
    vectors = scale * torch.randn(count, fragments, DIMENSION, generator=random)
    return [FragmentBag(v, (place,) * fragments, ("",) * fragments) for v in vectors]


def references(scale=1.0):
    photos = bags(40, 3, 0, WHOLE_FRAME, scale)
    return photos, [
        bag for number in range(1, 5) for bag in bags(20, number, number, Span(0, 1), scale)
    ]


def probability(calibration, score, bag):
    sums, sizes = bag.vectors.sum(0, keepdim=True).numpy(), np.array([len(bag)])
    kind, scores = PairKind.TEXT_IN_PHOTO, np.array([score], np.float32)
    return float(calibration.probabilities(kind, scores, sums, sizes)[0])


def test_log_odds_are_spreads_above_chance():
    chance = Chance(level=torch.tensor([0.5, 2.0, 1.0]), spread=4.0)
    a, b, c, d = chance.coefficients(Worth(2.0, -3.0)).tolist()
    score, strength, fragments = 17.0, 6.0, 3.0
    above = (score - (0.5 * strength + 2.0 * fragments + 1.0)) / 4.0
    expected = 2.0 * above - 3.0
    assert a * score + b * strength + c * fragments + d == pytest.approx(expected)


def test_a_score_of_chance_is_improbable_and_one_far_above_is_not():
    photos, sentences = references()
    calibration = calibrate_unlabelled(SumOfMax(), photos, sentences)
    usual = torch.stack(
        [(photo.vectors @ sentences[50].vectors.T).max(0).values.sum() for photo in photos]
    )
    chance = 1 / (1 + math.exp(-WORTH[PairKind.TEXT_IN_PHOTO].level))
    level = float(usual.median())
    assert probability(calibration, level, sentences[50]) < 3 * chance
    far = level + 12 * float(usual.std())
    assert probability(calibration, far, sentences[50]) > 0.5


def test_the_scale_of_scores_does_not_count():
    plain, scaled = (calibrate_unlabelled(SumOfMax(), *references(scale)) for scale in (1.0, 3.0))
    kind = PairKind.TEXT_IN_PHOTO.value
    assert float(scaled.coefficients[kind][0]) < float(plain.coefficients[kind][0])
    (bag,), (larger,) = bags(1, 3, 9, Span(0, 1)), bags(1, 3, 9, Span(0, 1), 3.0)
    spread = WORTH[PairKind.TEXT_IN_PHOTO].slope / float(plain.coefficients[kind][0])
    assert spread > 0
    assert probability(scaled, 9 * 20.0, larger) == pytest.approx(
        probability(plain, 20.0, bag), abs=0.2
    )


def test_few_references_are_refused():
    photos, sentences = references()
    with pytest.raises(ValueError, match="2 photos and 80 sentences are too few"):
        calibrate_unlabelled(SumOfMax(), photos[:2], sentences)


@pytest.mark.timeout(300)
def test_any_matcher_is_calibrated_without_captions(small_matcher, tmp_path, png):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "red.png").write_bytes(png("red"))
    (tmp_path / "photos" / "broken.png").write_bytes(b"no photo")
    out = tmp_path / "calibrated.safetensors"
    said = tessera("calibrate", small_matcher, "--out", out, "--reference", tmp_path / "photos")
    assert "photos without captions (1 could not be read)" in said
    before, after = checkpoint.load(small_matcher), checkpoint.load(out)
    assert before.calibration is None
    assert after.fingerprint == before.fingerprint
    assert after.calibration.facts["estimated"]
    assert after.calibration.compares_texts
    assert (after.calibration.coefficients[:, 0] > 0).all()
