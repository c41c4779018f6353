import math

import pytest
import torch
from torch.autograd import gradcheck

from training.matchers.objectives.contrastive import contrastive


def literal(scores, owners, temperature, smoothing):
    K, L = len(scores), len(owners)
    columns = [list(column) for column in zip(*scores, strict=True)]
    by_image = [[(owner == k) / owners.count(k) for owner in owners] for k in range(K)]
    by_sentence = [[float(owners[one] == k) for k in range(K)] for one in range(L)]
    cost = 0.0
    for rows, targets in ((scores, by_image), (columns, by_sentence)):
        for row, wanted in zip(rows, targets, strict=True):
            total = math.log(sum(math.exp(score / temperature) for score in row))
            for score, share in zip(row, wanted, strict=True):
                target = smoothing / len(row) + (1 - smoothing) * share
                cost -= target * (score / temperature - total) / (2 * len(rows))
    return cost


def test_a_cost_worked_by_hand(matched):
    # Both ways, the true pair has e / (e + 1) of the softmax.
    cost = contrastive(matched(torch.tensor([[1.0, 0.0], [0.0, 1.0]])))
    assert cost.item() == pytest.approx(math.log(1 + math.exp(-1)))


def test_equal_scores_cost_the_logarithm_of_the_batch(matched):
    cost = contrastive(matched(torch.zeros(5, 5)), smoothing=0.1)
    assert cost.item() == pytest.approx(math.log(5))


@pytest.mark.parametrize("owners", [[0, 1, 2, 3], [0, 0, 1, 2, 2, 3]])
@pytest.mark.parametrize(("temperature", "smoothing"), [(1.0, 0.0), (0.5, 0.0), (2.0, 0.1)])
def test_it_equals_the_literal_loop(matched, owners, temperature, smoothing):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(4, len(owners), generator=generator, dtype=torch.float64)
    expected = literal(scores.tolist(), owners, temperature, smoothing)
    found = contrastive(matched(scores, owners), temperature, smoothing)
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_its_gradient_is_right(matched):
    scores = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert gradcheck(lambda s: contrastive(matched(s), 0.7, 0.1), (scores.requires_grad_(),))


def test_a_sentence_wants_all_its_images_in_proportion_to_their_weights(matched):
    weights = torch.tensor([[1.0, 0.0], [3.0, 2.0]])
    scores = torch.tensor([[1.0, 0.5], [0.0, 2.0]])
    rows, columns = scores.log_softmax(1), scores.log_softmax(0)
    by_image = -(rows[0, 0] + 0.6 * rows[1, 0] + 0.4 * rows[1, 1]) / 2
    by_sentence = -(0.25 * columns[0, 0] + 0.75 * columns[1, 0] + columns[1, 1]) / 2
    cost = contrastive(matched(scores, weights=weights))
    assert cost.item() == pytest.approx(((by_image + by_sentence) / 2).item())


def test_a_true_pair_of_another_image_is_not_punished(matched):
    scores = torch.zeros(2, 2, requires_grad=True)
    contrastive(matched(scores, weights=torch.ones(2, 2))).backward()
    assert scores.grad.abs().max() < 1e-7
