import math
from dataclasses import replace

import pytest
import torch
from torch.autograd import gradcheck

from training.matchers.objectives import LabelMatch
from training.matchers.objectives.labels import labels, prefer


@pytest.fixture
def labelled(matched):
    def of(scores, true):
        return replace(matched(torch.zeros(2, 2)), labels=LabelMatch(scores, torch.tensor(true)))

    return of


def literal(scores, true, temperature):
    """True pairs against false ones of their rows, and of columns."""

    def one_way(rows, marks):
        costs = []
        for row, mark in zip(rows, marks, strict=True):
            rivals = [score for score, right in zip(row, mark, strict=True) if not right]
            own = [score for score, right in zip(row, mark, strict=True) if right]
            if rivals and own:
                spread = [sum(math.exp((r - s) / temperature) for r in rivals) for s in own]
                costs.append(sum(math.log1p(total) for total in spread) / len(own))
        return sum(costs) / len(costs)

    columns, column_marks = zip(*scores, strict=True), zip(*true, strict=True)
    return (one_way(scores, true) + one_way(columns, column_marks)) / 2


def test_it_equals_the_literal_loop(labelled):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    true = (torch.rand(6, 5, generator=generator) < 0.4).tolist()
    cost = labels(labelled(scores, true), temperature=0.5)
    assert cost.item() == pytest.approx(literal(scores.tolist(), true, 0.5), rel=1e-12)


def test_true_photos_of_a_text_are_no_rivals_of_each_other(labelled):
    scores = torch.tensor([[5.0], [1.0], [-1.0]], requires_grad=True)
    cost = prefer(scores.T, torch.tensor([[True, True, False]]))
    cost.backward()
    apart = [math.log1p(math.exp(-6.0)), math.log1p(math.exp(-2.0))]
    assert cost.item() == pytest.approx(sum(apart) / 2)
    assert (scores.grad[:2] < 0).all()  # both are drawn up, and the one that lacks it down
    assert scores.grad[2] > 0


def test_texts_that_all_photos_answer_or_none_teach_nothing(labelled):
    scores = torch.randn(3, 2, requires_grad=True)
    cost = labels(labelled(scores, [[True, False]] * 3))
    by_photo = prefer(scores, torch.tensor([[True, False]] * 3))
    assert cost.item() == pytest.approx(by_photo.item() / 2)
    nothing = labels(labelled(scores, [[True, True]] * 3))
    nothing.backward()
    assert nothing.item() == 0
    assert (scores.grad == 0).all()


def test_its_gradient_is_right(labelled):
    scores = torch.randn(4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    true = [[True, False, False], [False, True, False], [True, True, False], [False] * 3]
    assert gradcheck(lambda s: labels(labelled(s, true)), (scores.requires_grad_(),))


def test_it_needs_photos_with_labels(matched):
    with pytest.raises(ValueError, match=r"give \[labels\] in the preset"):
        labels(matched(torch.zeros(2, 2)))
