import pytest
import torch

from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span
from training.data.entities import TruePhrase
from training.evaluation.grounding import Outcome, grounding, iou, judge

LEFT, RIGHT = Box(0, 0, 0.5, 1), Box(0.5, 0, 1, 1)
IMAGE = FragmentBag(torch.eye(2), (LEFT, RIGHT), ("left", "right"))


def sentence(*vectors):
    """The words "red dog", and a fragment for the whole that says right with all its might."""
    spans = (Span(0, 3), Span(4, 7), Span(0, 7))
    whole = [0.0, 100.0]
    return FragmentBag(torch.tensor([*vectors, whole]), spans, ("red", "dog", WHOLE_SENTENCE))


def phrase(*boxes):
    return TruePhrase("red dog", Span(0, 7), boxes)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (LEFT, LEFT, 1.0),
        (LEFT, RIGHT, 0.0),
        (LEFT, Box(0, 0, 1, 1), 0.5),
        (Box(0, 0, 0.2, 0.2), Box(0.1, 0.1, 0.3, 0.3), 1 / 7),
        (Box(0, 0, 0.2, 0.2), Box(0.5, 0.5, 0.7, 0.7), 0.0),
    ],
)
def test_intersection_over_union_worked_by_hand(one, other, expected):
    assert iou(one, other) == pytest.approx(expected)
    assert iou(other, one) == pytest.approx(expected)


def test_the_box_with_the_largest_sum_over_words_is_chosen():
    words = sentence([1.0, 0.0], [0.0, 3.0])
    assert judge(IMAGE, words, phrase(RIGHT)) == Outcome(True, True, True)
    assert judge(IMAGE, words, phrase(LEFT)) == Outcome(False, False, True)


def test_only_words_of_the_phrase_count_and_the_whole_sentence_never():
    words = sentence([1.0, 0.0], [0.0, 3.0])
    red = TruePhrase("red", Span(0, 3), (LEFT,))
    assert judge(IMAGE, words, red).localised


def test_a_centre_in_a_true_box_points_even_where_the_box_is_too_large():
    small = Box(0.7, 0.4, 0.8, 0.6)
    words = sentence([0.0, 1.0], [0.0, 1.0])
    assert judge(IMAGE, words, phrase(small)) == Outcome(False, True, False)


def test_several_true_boxes_are_localised_as_the_box_around_them():
    words = sentence([0.0, 1.0], [0.0, 1.0])
    top, bottom = Box(0.5, 0, 1, 0.3), Box(0.5, 0.7, 1, 1)
    assert judge(IMAGE, words, phrase(top, bottom)) == Outcome(True, False, True)


def test_outcomes_are_summed_up_in_percent():
    seen = [Outcome(True, True, True), *[Outcome(False, True, True)] * 3]
    summed = grounding(seen)
    assert (summed.localised, summed.pointed, summed.reachable, summed.phrases) == (25, 100, 100, 4)


def test_no_phrase_is_no_number():
    with pytest.raises(ValueError, match="no phrase with a box"):
        grounding([])
