import math

import pytest
import torch

from models.scores.offsets import (
    PHOTO_TEMPERATURE,
    SCALE,
    TEMPERATURE,
    Offsets,
)
from models.scores.scoring import SCORES
from models.types import PaddedBags


@pytest.fixture
def offsets():
    torch.manual_seed(0)
    made = Offsets(3, 0, 4, (0.6, 0.3)).eval()
    made.refer(3 * torch.randn(3, 4))
    return made


@pytest.fixture
def both():
    """Offsets of sentences and of photos."""
    torch.manual_seed(0)
    made = Offsets(3, 5, 4, (0.6, 0.3)).eval()
    made.refer(3 * torch.randn(3, 4))
    made.refer_sentences(torch.randn(5, 5))
    return made


def bags(*sizes):
    torch.manual_seed(len(sizes))
    return PaddedBags.of([torch.randn(size, 4) for size in sizes])


def test_an_offset_is_what_a_sentence_scores_with_reference_photos(offsets):
    """b = −λ τ log mean_j exp(r_jᵀ Σ_t s_t / τ), by a literal loop."""
    (words,) = bags(2).vectors
    total = words[0] + words[1]
    powers = [math.exp(float(photo @ total) / TEMPERATURE) for photo in offsets.references]
    expected = -0.6 * TEMPERATURE * math.log(sum(powers) / 3)
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
    torch.testing.assert_close(Offsets(3, 0, 4).of(sums), torch.zeros(5))


def test_a_photos_offset_is_what_it_scores_with_reference_sentences(both):
    """c = −λ τ log mean_j exp((fᵀ q_j + b_j) / τ) − c̄, by a literal loop."""

    def literal(photo):
        scores = [
            float(photo @ sentence[:-1] + sentence[-1] / SCALE)
            for sentence in both.sentence_references
        ]
        powers = [math.exp(score / PHOTO_TEMPERATURE) for score in scores]
        return -0.3 * PHOTO_TEMPERATURE * math.log(sum(powers) / 5)

    level = sum(literal(photo) for photo in both.references) / 3
    images = bags(3, 2)
    given = both.images(images).vectors
    for photo, vectors in zip(images.vectors, given, strict=True):
        sums = bags(1)
        score = SCORES["sum_of_max"](
            PaddedBags(vectors[None], torch.ones(1, 3, dtype=torch.bool)), both.sentences(sums)
        )
        word = sums.vectors[0, 0]
        before = float((photo @ word).max()) + float(both.of(word[None]))
        assert float(score) - before == pytest.approx(literal(photo[0]) - level, rel=1e-4)


def test_scores_gain_the_offsets_of_both_sides_and_nothing_else(both):
    """For any number of words; links still add up."""
    images, sentences = bags(3, 2), bags(2, 4, 1)
    before = SCORES["sum_of_max"](images, sentences)
    with_numbers = both.images(images)
    after = SCORES["sum_of_max"](with_numbers, both.sentences(sentences))
    sums = (sentences.vectors * sentences.mask[..., None]).sum(1)
    photos = both.of_whole(with_numbers.vectors[:, 0, :-1])
    torch.testing.assert_close(after, before + both.of(sums)[None] + photos[:, None])
    both.train()
    after = SCORES["sum_of_max"](both.images(images), both.sentences(sentences))
    torch.testing.assert_close(after, before)


def test_photos_of_reference_have_offsets_of_zero_on_average(both):
    ones = torch.full((3, 1), 1 / SCALE)
    offsets = both.of_whole(torch.cat([both.references, ones], -1))
    assert offsets.mean().item() == pytest.approx(0, abs=1e-5)
    assert offsets.std().item() > 0.1
