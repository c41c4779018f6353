import pytest
import torch
from torch.autograd import gradcheck

from training.objectives.ranking import ranking


def literal(scores, margin):
    cost = 0.0
    K = len(scores)
    for k in range(K):
        for other in range(K):
            if other != k:
                cost += max(0.0, scores[k][other] - scores[k][k] + margin)
                cost += max(0.0, scores[other][k] - scores[k][k] + margin)
    return cost


def test_a_cost_worked_by_hand():
    # k=0: 2.5-2+1 = 1.5 by image, 0-2+1 < 0 by sentence; k=1: 0-1+1 = 0, 2.5-1+1 = 2.5.
    assert ranking(torch.tensor([[2.0, 2.5], [0.0, 1.0]])).item() == 4.0


def test_perfect_order_by_a_margin_costs_nothing():
    assert ranking(torch.tensor([[1.0, 0.0], [0.0, 1.0]])).item() == 0.0


@pytest.mark.parametrize("margin", [1.0, 0.2])
def test_it_equals_the_literal_loop(margin):
    scores = torch.randn(7, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = literal(scores.tolist(), margin)
    assert ranking(scores, margin).item() == pytest.approx(expected, rel=1e-12)


def test_its_gradient_is_right():
    scores = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert gradcheck(ranking, (scores.requires_grad_(),))
