import numpy as np
import torch

from models.scores.scoring import SCORES
from models.types import PaddedBags
from training.evaluation import score_matrix as matrices
from training.evaluation.score_matrix import score_matrix


def test_blocks_give_the_scores_of_one_great_batch(monkeypatch):
    monkeypatch.setattr(matrices, "IMAGES", 3)
    monkeypatch.setattr(matrices, "SENTENCES", 4)
    generator = torch.Generator().manual_seed(0)
    images = [torch.randn(1 + k % 4, 5, generator=generator) for k in range(8)]
    sentences = [torch.randn(1 + (7 * k) % 6, 5, generator=generator) for k in range(13)]
    expected = SCORES["sum_of_max"](PaddedBags.of(images), PaddedBags.of(sentences)).numpy()
    np.testing.assert_allclose(score_matrix(images, sentences, "sum_of_max"), expected, rtol=1e-5)
