"""How far true pairs rank above false ones, by a margin."""

from __future__ import annotations

import torch
from torch import Tensor


def ranking(scores: Tensor, margin: float = 1.0) -> Tensor:
    """C = Σ_k [Σ_l max(0, S_kl − S_kk + 1) + Σ_l max(0, S_lk − S_kk + 1)].

    (Karpathy & Fei-Fei 2015, eq. 9, with the margin 1 as a parameter.) Shapes: scores (K, K),
    true pairs on the diagonal, give a scalar. The terms l = k are left out: they add the constant
    2K · margin and no gradient, and without them a batch in perfect order costs 0.
    """
    true = scores.diagonal()
    rank_sentences = (scores - true[:, None] + margin).clamp_min(0)  # (K, K)
    rank_images = (scores - true[None, :] + margin).clamp_min(0)  # (K, K)
    same = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return (rank_sentences + rank_images).masked_fill(same, 0).sum()
