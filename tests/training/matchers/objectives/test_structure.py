import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from models.types import PaddedBags
from training.matchers.objectives import Match
from training.matchers.objectives.structure import structure


def match(x, y, owners):
    bags = [PaddedBags(v[:, None], torch.ones(len(v), 1, dtype=torch.bool)) for v in (x, y)]
    return Match(*bags, torch.tensor(owners), x @ y.T)


def unit(rows, seed):
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(rows, 3, generator=generator, dtype=torch.float64), dim=1)


def one_sum(anchors, others, positives, margin, top):
    """One of eq. 5's sums; positives[i] are i's other places."""
    cost = 0.0
    for i, anchor in enumerate(anchors):
        for j in positives[i]:
            hinges = [
                margin + math.dist(anchor, others[j]) - math.dist(anchor, other)
                for k, other in enumerate(others)
                if k not in positives[i]
            ]
            cost += sum(sorted((max(0.0, h) for h in hinges), reverse=True)[:top])
    return cost


def literal(x, y, owners, margin, lambdas, top):
    own = [[place for place, owner in enumerate(owners) if owner == k] for k in range(len(x))]
    return (
        one_sum(x, y, own, margin, top)
        + lambdas[0] * one_sum(y, x, [[owner] for owner in owners], margin, top)
        + lambdas[1] * one_sum(x, x, [[k] for k in range(len(x))], margin, top)
        + lambdas[2] * one_sum(y, y, [own[owner] for owner in owners], margin, top)
    )


def test_a_cost_worked_by_hand():
    # On a circle: photos at 0° and 180°, their sentences at 60° and 180°; chords are 2 sin(a/2).
    x = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    y = torch.tensor([[0.5, math.sqrt(3) / 2], [-1.0, 0.0]])
    # Photos ask: 1 + 1 - 2 = 0 and 1 + 0 - √3 < 0. Sentences ask: 1 + 1 - √3 and 1 + 0 - 2 < 0.
    found = structure(match(x, y, [0, 1]), margin=1.0, lambda_1=2.0)
    assert found.item() == pytest.approx(2 * (2 - math.sqrt(3)), abs=1e-6)


def test_perfect_order_by_a_margin_costs_nothing():
    x = torch.eye(3)
    assert structure(match(x, x[[0, 0, 1, 2]], [0, 0, 1, 2]), lambda_2=1.0).item() == 0.0


@pytest.mark.parametrize("owners", [[0, 1, 2, 3, 4], [0, 0, 1, 2, 2, 2, 3, 4]])
@pytest.mark.parametrize("lambdas", [(0, 0, 0), (2, 0, 0), (2, 0.3, 0), (2, 0, 0.2)])
@pytest.mark.parametrize("top", [2, 50])
def test_it_equals_the_literal_loop(owners, lambdas, top):
    x, y = unit(5, 0), unit(len(owners), 1)
    expected = literal(x.tolist(), y.tolist(), owners, 0.4, lambdas, top)
    found = structure(match(x, y, owners), 0.4, *lambdas, top)
    assert expected > 0
    assert found.item() == pytest.approx(expected, rel=1e-9)


def test_its_gradient_is_right():
    sides = unit(3, 2).requires_grad_(), unit(4, 3).requires_grad_()
    assert gradcheck(lambda x, y: structure(match(x, y, [0, 0, 1, 2]), 0.4, 2, 0.1, 0.2, 2), sides)


def test_twins_of_two_photos_leave_gradients_finite():
    y = torch.ones(40, 3, requires_grad=True)
    structure(match(torch.eye(3)[[0] * 40], y, list(range(40)))).backward()
    assert y.grad.isfinite().all()


def test_bags_of_more_than_one_vector_are_refused():
    bag = PaddedBags(torch.ones(2, 3, 4), torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="holds 3"):
        structure(Match(bag, bag, torch.arange(2), torch.ones(2, 2)))
