"""Recall of proposals: phrases with a box among the first N."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torchvision.ops import box_iou

COUNTS = (1, 5, 10, 20)
IOU = 0.5


def recalls(
    proposed: Sequence[Tensor],
    truth: Sequence[Tensor],
    counts: Sequence[int] = COUNTS,
    least: float = IOU,
) -> dict[int, float]:
    """Compute percents of true boxes overlapped by a photo's first N proposals.

    Shapes: proposed (R, 4) and truth (P, 4) a photo, a row for each phrase; overlap is an
    intersection over union of at least `least`. ValueError if there is no true box.
    """
    firsts = [first_hit(*pair, least) for pair in zip(proposed, truth, strict=True)]
    ranks = torch.cat(firsts) if firsts else torch.empty(0)
    if not len(ranks):
        raise ValueError("no phrase with a box to be found; are the boxes of these photos?")
    return {count: 100 * (ranks < count).double().mean().item() for count in counts}


def first_hit(proposed: Tensor, truth: Tensor, least: float) -> Tensor:
    """Find each true box's first proposal (P,); R without one."""
    hits = box_iou(truth, proposed) >= least  # (P, R)
    return torch.where(hits.any(dim=1), hits.int().argmax(dim=1), len(proposed))
