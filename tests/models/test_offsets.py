import math

import pytest
import torch

from models.offsets import TEMPERATURE, WEIGHT, Offsets
from models.scoring import SCORES
from models.types import PaddedBags


@pytest.fixture
def offsets():
    torch.manual_seed(0)
    made = Offsets(3, 4).eval()
    made.refer(3 * torch.randn(3, 4))
    return made


def bags(*sizes):
    torch.manual_seed(len(sizes))
    return PaddedBags.of([torch.randn(size, 4) for size in sizes])


def test_an_offset_is_what_a_sentence_scores_with_reference_photos(offsets):
    """b = −λ τ log mean_j exp(r_jᵀ Σ_t s_t / τ), by a literal loop."""
    (words,) = bags(2).vectors
    total = words[0] + words[1]
    powers = [math.exp(float(photo @ total) / TEMPERATURE) for photo in offsets.references]
    expected = -WEIGHT * TEMPERATURE * math.log(sum(powers) / 3)
    assert offsets.of(total[None]).item() == pytest.approx(expected, rel=1e-5)


def test_scores_gain_the_offset_of_their_sentence_and_nothing_else(offsets):
    images, sentences = bags(3, 2), bags(2, 4, 1)
    before = SCORES["sum_of_max"](images, sentences)
    after = SCORES["sum_of_max"](offsets.images(images), offsets.sentences(sentences))
    sums = (sentences.vectors * sentences.mask[..., None]).sum(1)
    torch.testing.assert_close(after, before + offsets.of(sums)[None])


def test_there_are_no_offsets_while_training(offsets):
    images, sentences = bags(3, 2), bags(2, 4, 1)
    offsets.train()
    after = SCORES["sum_of_max"](offsets.images(images), offsets.sentences(sentences))
    torch.testing.assert_close(after, SCORES["sum_of_max"](images, sentences))


def test_without_reference_photos_every_offset_is_zero():
    sums = torch.randn(5, 4)
    torch.testing.assert_close(Offsets(3, 4).of(sums), torch.zeros(5))
