import pytest
import torch

from models.types import WHOLE_FRAME, Box, FragmentBag, Span
from training.evaluation.inside import RankedRegion, find_longest, rank_regions

LEFT, RIGHT = Box(0, 0, 0.5, 1), Box(0.5, 0, 1, 1)
SNIPPET = FragmentBag(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), (Span(0, 3), Span(4, 7)), ("a", "b"))


def photo(*vectors):
    return FragmentBag(torch.tensor(vectors), (WHOLE_FRAME, LEFT, RIGHT), ("", "", ""))


PHOTOS = [
    photo([9.0, 9.0], [1.0, 0.0], [2.0, 1.0]),
    photo([9.0, 9.0], [0.0, 4.0], [-5.0, 0.0]),
    photo([9.0, 9.0], [1.0, 1.0], [0.0, 0.0]),
]


def test_each_photos_best_region_is_ranked_by_its_sum_over_fragments():
    found = rank_regions(PHOTOS, SNIPPET, "sum_of_max", count=2)
    assert found == [RankedRegion(1, LEFT, 4.0), RankedRegion(0, RIGHT, 3.0)]


def test_a_mean_of_positives_ranks_by_what_agrees():
    first = rank_regions(PHOTOS, SNIPPET, "mean_of_positive", count=1)[0]
    assert (first.photo, first.box, first.value) == (1, LEFT, pytest.approx(4 / 7))


def test_the_longest_regions_whatever_their_direction():
    found = find_longest(PHOTOS, count=3)
    assert [(one.photo, one.box) for one in found] == [(1, RIGHT), (0, RIGHT), (2, LEFT)]
    assert found[0].value == 5


def test_the_whole_frame_stands_where_there_is_nothing_else():
    frames = [FragmentBag(torch.tensor([[2.0, 0.0]]), (WHOLE_FRAME,), ("",))]
    assert find_longest(frames, count=5) == [RankedRegion(0, WHOLE_FRAME, 2.0)]
