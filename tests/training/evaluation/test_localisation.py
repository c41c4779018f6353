import pytest
import torch

from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span
from training.data.entities import TruePhrase
from training.evaluation.localisation import (
    LocatedPhrase,
    fragments_in,
    holds_centre,
    localisation,
    locate,
)

LEFT, RIGHT = Box(0.0, 0.0, 0.5, 1.0), Box(0.5, 0.0, 1.0, 1.0)
BOXES = torch.tensor([[0.0, 0.0, 0.4, 1.0], [0.5, 0.0, 1.0, 1.0]])


def dog(*scores, true=(LEFT,), text="a dog"):
    return LocatedPhrase(text, true, BOXES, torch.tensor(scores))


def test_recall_counts_phrases_with_a_right_box_among_the_best():
    seen = localisation([dog(2.0, 1.0), dog(1.0, 2.0), dog(1.0, 2.0, true=(Box(0, 0, 0.1, 0.1),))])
    assert seen.recall_1 == pytest.approx(100 / 3)
    assert seen.recall_5 == seen.recall_10 == seen.bound == pytest.approx(200 / 3)
    assert seen.phrases == 3


def test_several_true_boxes_are_one_around_them_but_pointing_wants_one():
    top, bottom = Box(0.5, 0.0, 1.0, 0.3), Box(0.5, 0.7, 1.0, 1.0)
    seen = localisation([dog(1.0, 2.0, true=(top, bottom))])
    assert (seen.recall_1, seen.pointed) == (100, 0)


def test_precision_ranks_the_boxes_of_all_photos_with_a_phrase_and_phrases_count_alike():
    sure, unsure = dog(3.0, 0.0), dog(1.0, 2.0, text="A DOG")  # ranked right, wrong, right, wrong
    ball = dog(1.0, 2.0, true=(RIGHT,), text="a ball")
    seen = localisation([sure, unsure, ball])
    assert seen.mean_precision == pytest.approx(100 * ((1 + 2 / 3) / 2 + 1) / 2)


def test_no_phrase_is_no_number():
    with pytest.raises(ValueError, match="no phrase with a box"):
        localisation([])


def test_a_score_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match="not a number"):
        localisation([dog(float("nan"), 1.0)])


def test_links_score_a_phrase_by_the_sum_over_its_words_and_the_whole_sentence_never():
    image = FragmentBag(torch.eye(2), (LEFT, RIGHT), ("left", "right"))
    words = FragmentBag(
        torch.tensor([[1.0, 0.0], [0.0, 3.0], [0.0, 100.0]]),
        (Span(0, 3), Span(4, 7), Span(0, 7)),
        ("red", "dog", WHOLE_SENTENCE),
    )
    both = locate(image, words, TruePhrase("red dog", Span(0, 7), (RIGHT,)))
    assert both.scores.tolist() == [1, 3]
    assert both.boxes.tolist() == [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]
    assert locate(image, words, TruePhrase("red", Span(0, 3), (LEFT,))).scores.tolist() == [1, 0]


def test_a_phrase_without_a_fragment_is_sought_in_the_first_box():
    image = FragmentBag(torch.eye(2), (LEFT, RIGHT), ("left", "right"))
    whole = FragmentBag(torch.ones(1, 2), (Span(0, 7),), (WHOLE_SENTENCE,))
    seen = localisation([locate(image, whole, TruePhrase("dog", Span(4, 7), (LEFT,)))])
    assert seen.recall_1 == seen.pointed == 100


SPANS = (Span(0, 3), Span(4, 7), Span(8, 12), Span(0, 12))
SENTENCE = FragmentBag(torch.zeros(4, 2), SPANS, ("red", "dog", "runs", WHOLE_SENTENCE))


@pytest.mark.parametrize(
    ("span", "expected"),
    [(Span(0, 7), [0, 1]), (Span(4, 7), [1]), (Span(2, 5), [0, 1]), (Span(3, 4), [])],
)
def test_a_phrase_has_the_fragments_that_overlap_it_and_never_the_whole_sentence(span, expected):
    assert fragments_in(SENTENCE, span) == expected


def test_a_box_holds_the_centre_of_another():
    half = Box(0, 0, 0.5, 1)
    assert holds_centre(half, Box(0.2, 0, 0.6, 1))
    assert not holds_centre(half, Box(0.5, 0, 1, 1))
