import pytest
import torch

from models.types import Box, FragmentBag, Span
from training.evaluation.faithfulness import faithfulness

WORDS = (Span(0, 1), Span(2, 3))
PLACES = (Box(0, 0, 0.5, 1), Box(0.5, 0, 1, 1), Box(0, 0, 1, 1))


def photo(*vectors):
    return FragmentBag(torch.tensor(vectors), PLACES[: len(vectors)], ("",) * len(vectors))


def sentence(*vectors):
    return FragmentBag(torch.tensor(vectors), WORDS[: len(vectors)], ("",) * len(vectors))


@pytest.mark.parametrize(
    ("other", "lost", "share"),
    [
        ([0.0, 0.0], 3.0, 100),  # the second best gives nothing
        ([1.0, 0.5], 1.5, 50),  # it gives half
        ([-1.0, -0.5], 4.5, 150),  # it disagrees
    ],
)
def test_a_region_is_worth_its_links_less_what_the_second_best_gives(other, lost, share):
    found = faithfulness([(photo([2.0, 1.0], other), sentence([1.0, 0.0], [0.0, 1.0]))])
    assert (found.linked, found.lost, found.share, found.pairs) == (3.0, lost, share, 1)
    assert found.gap == 0


def test_fragments_of_other_regions_stay_where_they_are():
    pair = photo([2.0, 0.0], [0.5, 1.0]), sentence([1.0, 0.0], [0.0, 1.0])
    found = faithfulness([pair])
    assert (found.linked, found.lost, found.gap) == (2.0, 1.5, 0)


def test_links_of_a_mean_foretell_the_mean_over_the_other_regions():
    pair = photo([3.0, 0.0], [1.0, 2.0]), sentence([1.0, 0.0], [0.0, 1.0])
    found = faithfulness([pair], "mean_of_positive")
    assert found.linked == pytest.approx(3 / (2 * 7))
    assert found.lost == pytest.approx((3 + 3) / (2 * 7) - 3 / 7)
    assert found.gap < 1e-6


@pytest.mark.parametrize("score", ["sum_of_max", "mean_of_positive"])
def test_scores_of_many_regions_are_foretold(score):
    torch.manual_seed(0)
    pairs = [(photo(*torch.randn(3, 4).tolist()), sentence(*torch.randn(2, 4).tolist()))] * 20
    assert faithfulness(pairs, score).gap < 1e-5


def test_photos_of_one_region_have_none_to_lose():
    assert faithfulness([(photo([1.0]), sentence([1.0]))]) is None
