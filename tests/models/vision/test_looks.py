"""Models with equal sights look at a photo once."""

from __future__ import annotations

import pytest
import torch

from models.towers import Sight
from models.vision.sight import Look, share_sight


class Counting(Sight):
    """A sight with a count; its key is its name."""

    def __init__(self, name: str, tuned: bool = False) -> None:
        super().__init__()
        self.name, self.tuned, self.looks = name, tuned, 0

    def forward(self, images):
        self.looks += 1
        return [torch.full((2, 1), float(self.looks))], [torch.tensor([[0.0, 0.0, 1.0, 1.0]])]

    def key(self) -> str:
        return self.name


class Describes:
    def __init__(self, sight: Sight) -> None:
        self.sight = sight


def test_a_sight_looks_once():
    look, sight, other = Look(torch.zeros(3, 4, 4)), Counting("a"), Counting("b")
    first, again = look.by(sight), look.by(sight)
    look.by(other)
    assert first is again
    assert (sight.looks, other.looks) == (1, 1)


def test_equal_sights_become_one():
    own, captioner, regions = Counting("a"), Describes(Counting("a")), Describes(Counting("b"))
    third = Describes(Counting("b"))
    share_sight(own, captioner, None, regions, third)
    assert captioner.sight is own
    assert regions.sight is third.sight is not own


@pytest.mark.parametrize("tuned", [(True, False), (False, True)])
def test_a_tuned_sight_stays_alone(tuned):
    own, captioner = Counting("a", tuned[0]), Describes(Counting("a", tuned[1]))
    share_sight(own, captioner)
    assert captioner.sight is not own
