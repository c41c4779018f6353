import pytest
import torch

from models.types import WHOLE_FRAME, Box, FragmentBag, PaddedBags


def test_a_batch_keeps_every_bag_and_marks_what_is_padding():
    short, long = torch.ones(1, 2), torch.full((3, 2), 2.0)
    batch = PaddedBags.of([short, long])
    assert batch.mask.tolist() == [[True, False, False], [True, True, True]]
    for own, bag in zip((short, long), range(2), strict=True):
        assert torch.equal(batch.vectors[bag][batch.mask[bag]], own)


def test_a_batch_of_word_indices_stays_whole_numbers():
    batch = PaddedBags.of([torch.tensor([[2**24 + 1]]), torch.tensor([[1], [2]])])
    assert batch.vectors[..., 0].tolist() == [[2**24 + 1, 0], [1, 2]]


def test_area_is_a_fraction_of_the_frame():
    assert WHOLE_FRAME.area == 1
    assert Box(0.5, 0.25, 1.0, 0.75).area == 0.25


def test_a_bag_without_a_place_for_each_fragment_is_our_mistake():
    with pytest.raises(AssertionError):
        FragmentBag(torch.zeros(2, 3), (WHOLE_FRAME,), ("whole photo",))
