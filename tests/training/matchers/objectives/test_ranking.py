import pytest
import torch
from torch.autograd import gradcheck

from training.matchers.objectives.ranking import ranking


def literal(scores, owners, margin, images=1.0, sentences=1.0):
    cost = 0.0
    for one, owner in enumerate(owners):
        true = scores[owner][one]
        for k, row in enumerate(scores):
            cost += images * max(0.0, row[one] - true + margin) * (k != owner)
        for other, score in enumerate(scores[owner]):
            cost += sentences * max(0.0, score - true + margin) * (owners[other] != owner)
    return cost


def test_a_cost_worked_by_hand(matched):
    # k=0: 2.5-2+1 = 1.5 by image, 0-2+1 < 0 by sentence; k=1: 0-1+1 = 0, 2.5-1+1 = 2.5.
    assert ranking(matched(torch.tensor([[2.0, 2.5], [0.0, 1.0]]))).item() == 4.0


def test_perfect_order_by_a_margin_costs_nothing(matched):
    assert ranking(matched(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))).item() == 0.0


@pytest.mark.parametrize("owners", [[0, 1, 2, 3, 4], [0, 0, 1, 2, 2, 2, 3, 4]])
@pytest.mark.parametrize(("margin", "images", "sentences"), [(1.0, 1.0, 1.0), (0.2, 2.0, 0.0)])
def test_it_equals_the_literal_loop(matched, owners, margin, images, sentences):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(5, len(owners), generator=generator, dtype=torch.float64)
    expected = literal(scores.tolist(), owners, margin, images, sentences)
    found = ranking(matched(scores, owners), margin, images, sentences)
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_its_gradient_is_right(matched):
    scores = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert gradcheck(lambda s: ranking(matched(s)), (scores.requires_grad_(),))
