import math

import pytest
import torch

from models.text.sentence_features import MeanVector, TfIdf
from models.types import PaddedBags


def test_padding_does_not_move_a_mean():
    bags = PaddedBags.of([torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0], [5.0, 8.0]])])
    found = MeanVector(2)(bags.vectors, bags.mask)
    torch.testing.assert_close(found, torch.tensor([[1.0, 2.0], [4.0, 4.0]]))


def test_fitted_means_have_mean_zero_and_deviation_one():
    generator = torch.Generator().manual_seed(0)
    still = torch.tensor([1.0, 1.0, 0.0])  # the last channel never moves
    sentences = [4 + torch.randn(n, 3, generator=generator) * still for n in (1, 2, 3, 4)]
    text, bags = MeanVector(3), PaddedBags.of(sentences)
    text.fit(sentences)
    found = text(bags.vectors, bags.mask)
    torch.testing.assert_close(found.mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.std(0, correction=0)[:2], torch.ones(2))
    assert found.isfinite().all()


def test_a_word_weighs_its_count_and_its_rarity():
    # Four sentences: word 1 is in all of them, word 2 in two, word 3 in one.
    sentences = [torch.tensor(own)[:, None] for own in ([1, 2], [1, 1, 2, 3], [1], [1])]
    text, bags = TfIdf(4), PaddedBags.of(sentences)
    text.fit(sentences)
    found = text(bags.vectors, bags.mask)
    assert found[0].tolist() == pytest.approx([0, 0, 2, 0])
    ratio = math.log(4) / math.log(2)
    length = math.hypot(1, ratio) / 2
    assert found[1].tolist() == pytest.approx([0, 0, 1 / length, ratio / length])
