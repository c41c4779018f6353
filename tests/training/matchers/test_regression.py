import pytest
import torch

from training.matchers.regression import logistic, predict_held_out, ridge


@pytest.mark.parametrize("count", [5, 30])  # fewer photos than features, and more
def test_ridge_has_the_least_penalised_error(count):
    torch.manual_seed(0)
    x, y = torch.randn(count, 8, dtype=torch.double), torch.randn(count, 2, dtype=torch.double)
    weight, bias = ridge(x, y, 0.5)
    strength = 0.5 * (x - x.mean(0)).square().sum() / count
    weight.requires_grad_()
    bias.requires_grad_()
    loss = (x @ weight.T + bias - y).square().sum() + strength * weight.square().sum()
    for gradient in torch.autograd.grad(loss, (weight, bias)):
        assert float(gradient.abs().max()) < 1e-6


def test_what_is_held_out_was_not_learned():
    torch.manual_seed(0)
    x, y = torch.randn(12, 4), torch.randn(12, 1)
    folds = torch.arange(12) % 3
    said = predict_held_out(x, y, folds, 0.1)
    weight, bias = ridge(x[folds != 1], y[folds != 1], 0.1)
    torch.testing.assert_close(said[folds == 1], x[folds == 1] @ weight.T + bias)


def test_logistic_finds_what_made_the_truth_beside_what_is_given():
    torch.manual_seed(0)
    x = torch.cat([torch.randn(50_000, 1), torch.ones(50_000, 1)], 1).double()
    given = 2 * torch.randn(50_000, dtype=torch.double)
    happened = torch.rand(50_000) < torch.sigmoid(x @ torch.tensor([1.5, -1.0]).double() + given)
    found = logistic(x, happened.double(), given)
    assert found.tolist() == pytest.approx([1.5, -1.0], abs=0.06)


def test_logistic_of_what_is_far_off_does_not_run_away():
    x = torch.tensor([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]).double()
    given = torch.tensor([30.0, 40.0, -50.0]).double()
    found = logistic(x, torch.tensor([0.0, 0.0, 1.0]).double(), given)
    p = torch.sigmoid(x @ found + given)
    assert p[:2].max() < 0.5 < p[2]
