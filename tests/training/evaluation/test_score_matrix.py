import numpy as np
import pytest
import torch

from models.scores.scoring import SCORES
from models.types import PaddedBags
from training.evaluation import score_matrix as matrices
from training.evaluation.score_matrix import measure_similarity, score_matrix


def test_blocks_give_the_scores_of_one_great_batch(monkeypatch):
    monkeypatch.setattr(matrices, "IMAGES", 3)
    monkeypatch.setattr(matrices, "SENTENCES", 4)
    generator = torch.Generator().manual_seed(0)
    images = [torch.randn(1 + k % 4, 5, generator=generator) for k in range(8)]
    sentences = [torch.randn(1 + (7 * k) % 6, 5, generator=generator) for k in range(13)]
    expected = SCORES["sum_of_max"](PaddedBags.of(images), PaddedBags.of(sentences)).numpy()
    np.testing.assert_allclose(score_matrix(images, sentences, "sum_of_max"), expected, rtol=1e-5)


def test_sentences_are_compared_by_cosines_of_their_sums_and_not_by_products():
    # Photo 0 has (1, 0) twice, of one and of two words; photo 1 a long one near all.
    bags = [[[1.0, 0.0]], [[0.5, 0.1], [0.5, -0.1]], [[9.0, 8.0]], [[0.0, 1.0], [0.0, 1.0]]]
    sentences = [torch.tensor(bag) for bag in bags]
    measured = measure_similarity(sentences, [0, 0, 1, 1])
    assert (measured.recall_1, measured.mean_rank) == (75.0, (1 + 1 + 3 + 1) / 4)


def test_numbers_of_terms_do_not_count_in_similarity():
    sentences = [torch.tensor([vector]) for vector in ([1.0, 0, 5], [1, 0, -5], [0, 1, 5.0])]
    assert measure_similarity(sentences[:2] * 2, [0, 0, 1, 1], terms=1).recall_1 == 0.0  # ties
    assert measure_similarity([*sentences, sentences[2]], [0, 0, 1, 1], terms=1).recall_1 == 100.0


@pytest.mark.parametrize("owners", [[0, 1], [0, 0, 1]])
def test_a_photo_of_one_sentence_leaves_similarity_out(owners):
    assert measure_similarity([torch.ones(1, 2)] * len(owners), owners) is None
