import pytest
import torch
from torch.autograd import gradcheck

from models.scores.scoring import SCORES
from models.types import PaddedBags
from training.matchers.objectives import Match
from training.matchers.objectives.squared import squared


def bags(vectors, image):
    """Vectors (B, D) with inner products −‖v − y‖²."""
    norms, ones = vectors.square().sum(1, keepdim=True), torch.ones_like(vectors[:, :1])
    parts = [2 * vectors, -norms, ones] if image else [vectors, ones, -norms]
    return PaddedBags(torch.cat(parts, 1)[:, None], torch.ones(len(vectors), 1, dtype=torch.bool))


def match_of(v, y, owners):
    images, sentences = bags(v, image=True), bags(y, image=False)
    return Match(images, sentences, torch.tensor(owners), SCORES["sum_of_max"](images, sentences))


def random(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def test_a_cost_worked_by_hand():
    v, y = torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    assert squared(match_of(v, y, [0, 1])).item() == (25 + 1) / 2


def test_it_equals_the_literal_loop():
    v, y, owners = random(3, 4), random(5, 4, seed=1), [0, 0, 1, 2, 2]
    costs = [
        sum((a - b) ** 2 for a, b in zip(v[k], y[n], strict=True)) for n, k in enumerate(owners)
    ]
    assert squared(match_of(v, y, owners)).item() == pytest.approx(sum(costs).item() / 5)


@pytest.mark.parametrize(
    ("moves", "moved"), [("images", (True, False)), ("sentences", (False, True))]
)
def test_one_side_alone_moves(moves, moved):
    v, y = random(3, 4).requires_grad_(), random(3, 4, seed=1).requires_grad_()
    squared(match_of(v, y, [0, 1, 2]), moves).backward()
    assert tuple(one.grad is not None and one.grad.any().item() for one in (v, y)) == moved


def test_its_gradient_is_right():
    given = random(3, 2).requires_grad_(), random(3, 2, seed=1).requires_grad_()
    assert gradcheck(lambda v, y: squared(match_of(v, y, [0, 1, 2])), given)


def test_inner_products_are_refused(matched):
    with pytest.raises(ValueError, match="euclidean"):
        squared(matched(torch.tensor([[2.0, -1.0], [-1.0, -1.0]])))


def test_an_unknown_side_is_refused():
    with pytest.raises(ValueError, match="'left'"):
        squared(match_of(random(2, 2), random(2, 2), [0, 1]), "left")
