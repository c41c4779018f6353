import pytest
import torch

from models.types import WHOLE_SENTENCE, FragmentBag, Span
from training.evaluation.inside import Magnitude, magnitudes

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
