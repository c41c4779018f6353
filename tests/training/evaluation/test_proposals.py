import pytest
import torch

from training.evaluation.proposals import recalls

LEFT, RIGHT, ALL = [0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]
SMALL = [0.9, 0.9, 1.0, 1.0]


def boxes(*rows):
    return torch.tensor(rows).view(-1, 4)


def test_recall_at_n_counts_phrases_whose_box_is_among_the_first_n():
    proposed = [boxes(LEFT, RIGHT, ALL), boxes(ALL, SMALL, LEFT)]
    truth = [boxes(LEFT, RIGHT, SMALL), boxes(LEFT)]  # found first, second, never, and first
    assert recalls(proposed, truth, counts=(1, 2, 3)) == {1: 50, 2: 75, 3: 75}


def test_half_an_overlap_is_enough_and_less_is_not():
    proposed, truth = [boxes(ALL)], [boxes(LEFT)]  # intersection over union ½
    assert recalls(proposed, truth, counts=(1,)) == {1: 100}
    assert recalls(proposed, truth, counts=(1,), least=0.51) == {1: 0}


def test_a_photo_without_phrases_changes_nothing():
    proposed, truth = [boxes(ALL), boxes(ALL)], [boxes(), boxes(ALL)]
    assert recalls(proposed, truth, counts=(1,)) == {1: 100}


@pytest.mark.parametrize("truth", [[], [torch.empty(0, 4)]])
def test_no_phrase_is_no_number(truth):
    with pytest.raises(ValueError, match="no phrase with a box"):
        recalls([boxes(ALL)] * len(truth), truth)
