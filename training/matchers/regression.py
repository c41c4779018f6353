"""Regressions without descent: ridge in closed form, logistic by Newton's method."""

from __future__ import annotations

import torch
from torch import Tensor

PENALTY = 1e-4  # on squared coefficients of a logistic regression
STEPS = 30
HALVINGS = 20  # of a step that would raise the loss


def ridge(x: Tensor, y: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """W (V, C) and b (V,) with the least ‖x Wᵀ + b − y‖² + λ ‖W‖², λ = `penalty` · mean ‖x_k‖².

    Shapes: x (N, C), y (N, V); ‖x_k‖ are lengths around the mean. Hoerl & Kennard 1970, through
    the smaller of the C × C and the N × N system.
    """
    mean, level = x.mean(0), y.mean(0)
    x, y = x - mean, y - level
    N, C = x.shape
    strength = penalty * float(x.square().sum()) / N
    if N < C:
        system = x @ x.T + strength * torch.eye(N)
        w = x.T @ torch.cholesky_solve(y, torch.linalg.cholesky(system))  # (C, V)
    else:
        system = x.T @ x + strength * torch.eye(C)
        w = torch.cholesky_solve(x.T @ y, torch.linalg.cholesky(system))
    return w.T, level - mean @ w


def predict_held_out(x: Tensor, y: Tensor, folds: Tensor, penalty: float) -> Tensor:
    """Predict each fold (N,) by a ridge of the others, (N, V)."""
    predicted = torch.zeros_like(y)
    for fold in set(folds.tolist()):
        in_fold = folds == fold
        weight, bias = ridge(x[~in_fold], y[~in_fold], penalty)
        predicted[in_fold] = x[in_fold] @ weight.T + bias
    return predicted


def logistic(
    x: Tensor, y: Tensor, offset: Tensor | float = 0.0, penalty: float = PENALTY
) -> Tensor:
    """Coefficients w (F,) of the least mean cross-entropy of σ(x w + offset) with y, plus a ridge.

    Shapes: x (N, F), y (N,) from 0 to 1, offset (N,), all in double precision. The loss is convex;
    a step that would raise it is halved.
    """

    def loss(w: Tensor) -> float:
        logits = x @ w + offset
        entropy = torch.nn.functional.softplus(logits) - y * logits
        return float(entropy.mean() + penalty * w.square().sum() / 2)

    w, unit = x.new_zeros(x.shape[1]), torch.eye(x.shape[1], dtype=x.dtype)
    for _ in range(STEPS):
        p = torch.sigmoid(x @ w + offset)
        gradient = x.T @ (p - y) / len(y) + penalty * w
        curvature = (x * (p * (1 - p))[:, None]).T @ x / len(y) + penalty * unit
        step = torch.linalg.solve(curvature, gradient)
        least = loss(w)
        halved = (w - step / 2**halvings for halvings in range(HALVINGS))
        w = next((candidate for candidate in halved if loss(candidate) <= least), w)
    return w
