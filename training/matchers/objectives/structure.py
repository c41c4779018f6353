"""Structure-preserving objective: true pairs closer than false ones, across views and within."""

from __future__ import annotations

import torch
from torch import Tensor

from training.matchers.objectives import Match


def structure(
    match: Match,
    margin: float = 0.1,
    lambda_1: float = 2.0,
    lambda_2: float = 0.0,
    lambda_3: float = 0.2,
    top: int = 50,
) -> Tensor:
    """L(X, Y) of Wang, Li & Lazebnik 2016, eq. 5; gives a scalar.

        L = Σ_ijk [m + d(x_i, y_j) − d(x_i, y_k)]₊ + λ1 Σ_ijk [m + d(x_j, y_i) − d(x_k, y_i)]₊
          + λ2 Σ_ijk [m + d(x_i, x_j) − d(x_i, x_k)]₊ + λ3 Σ_ijk [m + d(y_i, y_j) − d(y_i, y_k)]₊

    d is the Euclidean distance of vectors, one for each photo and each sentence, [·]₊ the hinge.
    Of each pair (i, j) the `top` most violated constraints count (section 2.2). The neighbourhood
    N(y_i) is the sentences of one photo in the batch, y_i among them; N(x_i) is x_i alone, since
    here no two photos share a sentence: then λ2 keeps photos a margin apart, and the paper sets it
    to 0.

    Raises ValueError for bags of more than one vector.
    """
    x, y = (vectors_of(side.vectors) for side in (match.images, match.sentences))
    across = torch.cdist(x, y)  # (K, L)
    loss = violations(across, match.true, margin, top)
    if lambda_1:
        loss = loss + lambda_1 * violations(across.T, match.true.T, margin, top)
    if lambda_2:
        itself = torch.eye(len(x), dtype=torch.bool, device=x.device)
        loss = loss + lambda_2 * violations(torch.cdist(x, x), itself, margin, top)
    if lambda_3:
        same_photo = match.owners[:, None] == match.owners[None, :]  # (L, L)
        loss = loss + lambda_3 * violations(torch.cdist(y, y), same_photo, margin, top)
    return loss


def vectors_of(bags: Tensor) -> Tensor:
    """(B, 1, D) to (B, D)."""
    if bags.shape[1] != 1:
        raise ValueError(f"structure compares one vector a side, and a bag holds {bags.shape[1]}")
    return bags[:, 0]


def violations(distances: Tensor, positive: Tensor, margin: float, top: int) -> Tensor:
    """Σ over positives (i, j) of the `top` [m + d_ij − d_ik]₊.

    The largest ones; k is no positive of i.

    Shapes: distances (A, B), positive (A, B) give a scalar. The largest are those of the nearest
    k, which all positives of i share.
    """
    i, j = positive.nonzero(as_tuple=True)  # (P,)
    rivals = distances.masked_fill(positive, float("inf"))
    nearest = rivals.topk(min(top, rivals.shape[1]), dim=1, largest=False).values  # (A, K)
    return (margin + distances[i, j][:, None] - nearest[i]).clamp_min(0).sum()
