import math
from dataclasses import replace

import pytest
import torch
from torch.autograd import gradcheck

from training.matchers.objectives.distillation import distillation


def literal(scores, taught, temperature):
    def softmax(row):
        powers = [math.exp(score / temperature) for score in row]
        return [power / sum(powers) for power in powers]

    cost = 0.0
    for own, other in ((scores, taught), (zip(*scores), zip(*taught))):  # noqa: B905 - same shapes
        rows = list(zip(own, other, strict=True))
        for one, lesson in rows:
            pairs = zip(softmax(lesson), softmax(one), strict=True)
            cost -= temperature**2 * sum(q * math.log(p) for q, p in pairs) / (2 * len(rows))
    return cost


def numbers(seed, K=4, L=6):
    return torch.randn(K, L, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 0.5])
def test_it_equals_the_literal_loop(matched, temperature):
    match = replace(matched(numbers(0), [0, 0, 1, 2, 2, 3]), taught=numbers(1))
    found = distillation(match, temperature).item()
    expected = literal(match.scores.tolist(), match.taught.tolist(), temperature)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_cost_worked_by_hand(matched):
    # Teachers who cannot tell, and scores that can: half of each row's weight lies on the worse.
    match = replace(matched(torch.tensor([[2.0, 0.0], [0.0, 2.0]])), taught=torch.zeros(2, 2))
    better = 1 / (1 + math.exp(-1))
    assert distillation(match, 2.0).item() == pytest.approx(
        -4 * (0.5 * math.log(better) + 0.5 * math.log(1 - better))
    )


def test_nothing_is_left_to_learn_from_teachers_who_agree(matched):
    scores = numbers(2).requires_grad_()
    match = replace(matched(scores, [0, 0, 1, 2, 2, 3]), taught=scores.detach().clone())
    distillation(match).backward()
    assert torch.allclose(scores.grad, torch.zeros_like(scores), atol=1e-12)


def test_its_gradient_is_right(matched):
    taught = numbers(3, 4, 4)
    assert gradcheck(
        lambda scores: distillation(replace(matched(scores), taught=taught), 3.0),
        (numbers(4, 4, 4).requires_grad_(),),
    )


def test_without_teachers_it_says_what_is_missing(matched):
    with pytest.raises(ValueError, match=r"name them in \[teachers\]"):
        distillation(matched(numbers(5, 4, 4)))
