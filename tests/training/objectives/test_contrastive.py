import math

import pytest
import torch
from torch.autograd import gradcheck

from training.objectives.contrastive import contrastive


def literal(scores, temperature, smoothing):
    K = len(scores)
    columns = [list(column) for column in zip(*scores, strict=True)]
    cost = 0.0
    for rows in (scores, columns):
        for k, row in enumerate(rows):
            total = math.log(sum(math.exp(score / temperature) for score in row))
            for other, score in enumerate(row):
                target = smoothing / K + (1 - smoothing) * (other == k)
                cost -= target * (score / temperature - total)
    return cost / (2 * K)


def test_a_cost_worked_by_hand():
    # Both ways, the true pair has e / (e + 1) of the softmax.
    cost = contrastive(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert cost.item() == pytest.approx(math.log(1 + math.exp(-1)))


def test_equal_scores_cost_the_logarithm_of_the_batch():
    assert contrastive(torch.zeros(5, 5), smoothing=0.1).item() == pytest.approx(math.log(5))


@pytest.mark.parametrize(("temperature", "smoothing"), [(1.0, 0.0), (0.5, 0.0), (2.0, 0.1)])
def test_it_equals_the_literal_loop(temperature, smoothing):
    scores = torch.randn(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = literal(scores.tolist(), temperature, smoothing)
    assert contrastive(scores, temperature, smoothing).item() == pytest.approx(expected, rel=1e-12)


def test_its_gradient_is_right():
    scores = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert gradcheck(lambda s: contrastive(s, 0.7, 0.1), (scores.requires_grad_(),))
