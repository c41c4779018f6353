"""Encoders that were trained to mean something find the scene, the box, and lose what links say."""

import pytest

from benchmarks.encoder_truth import truth
from training.tiny_encoders import FAMILIES


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", FAMILIES)
def test_an_adopted_encoder_finds_the_scene_and_the_box_of_each_phrase(family, tmp_path):
    found = truth(family, tmp_path)
    assert found.search_1 > 60  # of 100 scenes
    assert found.search_1 > found.official_1 - 5
    assert found.pointed > 50  # a quarter by chance
    assert found.gap < 1e-4
    assert found.fall > 5 * max(found.elsewhere, 0.01)
