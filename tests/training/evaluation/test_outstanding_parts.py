import pytest
import torch

from models.text_towers.composed import Config, Model
from models.types import WHOLE_FRAME, WHOLE_SENTENCE, Box, FragmentBag, Span
from training.evaluation.outstanding_parts import (
    Composition,
    Magnitude,
    RankedRegion,
    compositions,
    find_longest,
    magnitudes,
    rank_regions,
)

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


def test_the_relation_of_the_largest_matrix_comes_first():
    tower = Model(Config(relations=("nsubj", "det"), embedding=2))
    with torch.no_grad():
        tower.compose.compose.copy_(
            torch.tensor([[[1.0, 0], [0, 0]], [[3.0, 0], [0, 4]], [[0.0, 2], [0, 0]]])
        )
    assert compositions(tower) == [
        Composition("nsubj", 5.0), Composition("det", 2.0), Composition("others", 1.0)
    ]  # fmt: skip


def test_positions_are_counted_from_the_head():
    tower = Model(Config(composition="position", reach=2, embedding=2))
    kinds = {one.kind for one in compositions(tower)}
    assert kinds == {"others", "left 1", "left 2", "right 1", "right 2"}


def test_a_tower_without_such_matrices_is_refused():
    with pytest.raises(ValueError, match="give an SDT-RNN or DT-RNN"):
        compositions(Model(Config(composition="sequence", embedding=2)))


BAG = FragmentBag(
    torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 9.0], [2.0, 0.0]]),
    (Span(0, 3), Span(4, 6), Span(0, 6), Span(7, 9)),
    ("Dog", "in", WHOLE_SENTENCE, "now"),
)
SHORTER = FragmentBag(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), BAG.places[:2], ("dog", "in"))


def test_the_mean_length_of_each_word_largest_first_and_rare_words_left_out():
    found = magnitudes([BAG, SHORTER], least_count=2)
    assert found == [Magnitude("dog", 3.0, 2), Magnitude("in", 1.0, 2)]


def test_text_without_enough_words_is_refused():
    with pytest.raises(ValueError, match="no word has 3 fragments"):
        magnitudes([BAG, SHORTER], least_count=3)
