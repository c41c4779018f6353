from collections import Counter

import pytest
import torch

from models.grounders.two_branch import Config, Model
from models.scores.correlation import Correlation
from training.grounders.correlation import MOST_PAIRS, Moments, pair_boxes, solve

SMALL = {"sizes": (64,), "proposals": "windows", "embedding": 4, "region_dropout": 0.0}


def linear(**options) -> Model:
    """A grounder with linear branches, in evaluation."""
    torch.manual_seed(0)
    return Model(Config(**(SMALL | {"hidden": 0} | options))).eval()


def test_what_correlates_comes_to_lie_together():
    model, hidden = linear(), torch.randn(400, 4)
    regions, phrases = torch.randn(4, 1286), torch.randn(4, 768)
    x = hidden @ regions + 0.1 * torch.randn(400, 1286)
    y = hidden @ phrases + 0.1 * torch.randn(400, 768)
    halves = [(x[:200], y[:200]), (x[200:], y[200:])]  # photo by photo, as training gives them
    solve(model, halves, Correlation(ridge=0.1, power=1.0))
    with torch.no_grad():
        products = model.regions(x) @ model.phrases(y).T  # (N, N)
    assert (products.argmax(1) == torch.arange(400)).float().mean() > 0.9
    assert products.diagonal().mean() > 0.9


def test_moments_of_parts_are_those_of_the_whole():
    x, y = torch.randn(50, 3), torch.randn(50, 2)
    moments = Moments()
    moments.add(x[:20], y[:20])
    moments.add(x[20:], y[20:])
    centred = (x - x.mean(0)).double(), (y - y.mean(0)).double()
    torch.testing.assert_close(moments.covariance("x", "y"), centred[0].T @ centred[1] / 50)


def test_a_phrase_is_paired_with_the_proposal_on_its_box_and_few_times():
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.4, 0.4]])
    truth = torch.tensor([[0.0, 0.0, 0.4, 0.5], [0.8, 0.8, 0.9, 0.9]])
    taken: Counter[str] = Counter()
    assert pair_boxes(boxes, truth, ["a dog", "a cup"], taken) == ([1], [0])  # no box on the cup
    for _ in range(MOST_PAIRS - 1):
        pair_boxes(boxes, truth, ["a dog", "a cup"], taken)
    assert pair_boxes(boxes, truth, ["a dog", "a cup"], taken) == ([], [])


def test_hidden_layers_and_absent_pairs_are_refused():
    with pytest.raises(ValueError, match="need linear branches, 0"):
        solve(linear(hidden=8), [], Correlation())
    with pytest.raises(ValueError, match="no phrase has a proposal on its box"):
        solve(linear(), [], Correlation())
