import pytest
import torch

from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span
from training.evaluation.localisation import fragments_in, holds_centre

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
