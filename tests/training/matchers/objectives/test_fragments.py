import pytest
import torch
from torch.autograd import gradcheck

from models.types import PaddedBags
from training.matchers.objectives import Match
from training.matchers.objectives.fragments import fragments

OWNERS = [0, 1, 1, 2]


def bags(sizes, seed):
    make = torch.Generator().manual_seed(seed)
    return PaddedBags.of(
        [torch.randn(size, 3, generator=make, dtype=torch.float64) for size in sizes]
    )


def match(images, sentences):
    return Match(images, sentences, torch.tensor(OWNERS), torch.zeros(3, 4))


def literal(images, sentences, mil, balanced):
    """Eq. 4 and 5, fragment by fragment."""
    costs = []
    for owner, said, real in zip(OWNERS, sentences.vectors, sentences.mask, strict=True):
        for s in said[real]:
            sims = [(images.vectors[k][images.mask[k]] @ s).tolist() for k in range(3)]
            own = sims[owner]
            signs = [1 if value > 0 or not mil else -1 for value in own]
            if mil:
                signs[own.index(max(own))] = 1
            pairs = [(y, v) for y, v in zip(signs, own, strict=True)]
            pairs += [(-1, v) for k in range(3) if k != owner for v in sims[k]]
            parts = [[max(0.0, 1 - y * v) for y, v in pairs if y == sign] for sign in (1, -1)]
            means = [sum(part) / max(len(part), 1) for part in parts]
            costs.append(sum(means) if balanced else sum(map(sum, parts)))
    return sum(costs) / len(costs) if balanced else sum(costs)


@pytest.mark.parametrize("mil", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_it_equals_the_literal_loop(mil, balanced):
    images, sentences = bags([4, 2, 3], 0), bags([2, 1, 3, 2], 1)
    found = fragments(match(images, sentences), mil, balanced).item()
    assert found == pytest.approx(literal(images, sentences, mil, balanced), rel=1e-12)


def test_single_precision_gives_the_same_to_rounding():
    images, sentences = bags([4, 2, 3], 0), bags([2, 1, 3, 2], 1)
    single = [PaddedBags(side.vectors.float(), side.mask) for side in (images, sentences)]
    found = fragments(match(*single), mil=True).item()
    assert found == pytest.approx(literal(images, sentences, mil=True, balanced=True), rel=1e-5)


def test_a_cost_worked_by_hand():
    # The first sentence's own regions give 2 and -3: dense wants both, mil the first alone.
    images = PaddedBags.of([torch.tensor([[2.0], [-3.0]]), torch.tensor([[0.5]])])
    sentences = PaddedBags.of([torch.tensor([[1.0]])])
    one = Match(images, sentences, torch.tensor([0]), torch.zeros(2, 1))
    assert fragments(one, mil=False, balanced=False).item() == 0 + 4 + 1.5
    assert fragments(one, mil=True, balanced=False).item() == 0 + 0 + 1.5


def test_one_region_is_positive_even_where_all_disagree():
    images = PaddedBags.of([torch.tensor([[-0.5], [-2.0]]), torch.tensor([[-9.0]])])
    sentences = PaddedBags.of([torch.tensor([[1.0]])])
    one = Match(images, sentences, torch.tensor([0]), torch.zeros(2, 1))
    assert fragments(one, mil=True, balanced=False).item() == 1.5 + 0 + 0


@pytest.mark.parametrize("mil", [False, True])
def test_its_gradient_is_right(mil):
    images, sentences = bags([4, 2, 3], 2), bags([2, 1, 3, 2], 3)

    def cost(vectors):
        return fragments(match(PaddedBags(vectors, images.mask), sentences), mil)

    assert gradcheck(cost, (images.vectors.requires_grad_(),))
