"""Average precision and precision at k of one ranking."""

from __future__ import annotations

import torch
from torch import Tensor


def average_precision(scores: Tensor, relevant: Tensor, positives: int | None = None) -> float:
    """AP = Σ_k precision@k · relevant_k / positives, as a fraction.

    Shapes: scores (N,), relevant (N,) bool. `positives` counts what should be retrieved, by
    default the relevant answers; answers that the ranking lacks then count with 0. Ties count
    against us: of answers with one score the irrelevant ones come first. ValueError if there is
    nothing to retrieve.

    >>> average_precision(torch.tensor([3.0, 2.0, 1.0]), torch.tensor([True, False, True]))
    0.8333333333333333
    >>> average_precision(torch.tensor([3.0, 2.0]), torch.tensor([True, False]), positives=2)
    0.5
    """
    ranked = ranking(scores, relevant).double()
    positive_count = float(ranked.sum()) if positives is None else positives
    if not positive_count:
        raise ValueError("no answer is relevant, so precision has no average")
    precision = ranked.cumsum(0) / torch.arange(1, len(ranked) + 1)
    return float((precision * ranked).sum() / positive_count)


def precision_at(k: int, scores: Tensor, relevant: Tensor) -> float:
    """Compute the share of relevant answers among the first k.

    Ties count against us.

    >>> precision_at(2, torch.tensor([1.0, 3.0, 2.0]), torch.tensor([False, True, False]))
    0.5
    """
    return float(ranking(scores, relevant)[:k].double().sum() / k)


def ranking(scores: Tensor, relevant: Tensor) -> Tensor:
    """Return the relevance (N,) of answers, best score first, irrelevant first at ties."""
    order = relevant.int().argsort(stable=True)
    return relevant[order[scores[order].argsort(descending=True, stable=True)]]
