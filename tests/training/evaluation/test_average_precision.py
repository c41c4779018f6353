import pytest
import torch

from training.evaluation.average_precision import average_precision, precision_at

TABLE = [
    # relevant, positives, average precision
    ([True, False, False], None, 1),
    ([False, True, False], None, 1 / 2),
    ([True, False, True], None, (1 + 2 / 3) / 2),
    ([True, False, False], 2, 1 / 2),  # the ranking lacks the second
]


@pytest.mark.parametrize(("relevant", "positives", "expected"), TABLE)
def test_average_precision_worked_by_hand(relevant, positives, expected):
    scores = torch.tensor([3.0, 2.0, 1.0])
    precision = average_precision(scores, torch.tensor(relevant), positives)
    assert precision == pytest.approx(expected)


@pytest.mark.parametrize(("k", "expected"), [(1, 1), (2, 1 / 2), (3, 2 / 3), (5, 2 / 5)])
def test_precision_at_k_divides_by_k_even_of_a_shorter_ranking(k, expected):
    scores, relevant = torch.tensor([1.0, 3.0, 2.0]), torch.tensor([True, True, False])
    assert precision_at(k, scores, relevant) == pytest.approx(expected)


def test_ties_count_against_us():
    scores, relevant = torch.ones(4), torch.tensor([True, False, False, False])
    assert average_precision(scores, relevant) == 1 / 4
    assert precision_at(3, scores, relevant) == 0


def test_average_precision_is_that_of_the_literal_sum():
    generator = torch.Generator().manual_seed(0)
    scores, relevant = (
        torch.rand(50, generator=generator),
        torch.rand(50, generator=generator) > 0.7,
    )
    order = sorted(range(50), key=lambda i: -scores[i])
    precisions = [
        sum(bool(relevant[i]) for i in order[: k + 1]) / (k + 1)
        for k in range(50)
        if relevant[order[k]]
    ]
    expected = sum(precisions) / len(precisions)
    assert average_precision(scores, relevant) == pytest.approx(expected)


def test_nothing_relevant_has_no_average_precision():
    with pytest.raises(ValueError, match="no answer is relevant"):
        average_precision(torch.ones(2), torch.zeros(2, dtype=torch.bool))
