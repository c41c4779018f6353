"""A Match: a batch's encoded bags, who belongs to whom, and all scores."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.types import PaddedBags


@dataclass(frozen=True, slots=True)
class Match:
    """K images and L sentences; owners (L,) is the image of each sentence, scores are (K, L).

    taught (K, L) are the scores that other matchers give, where a training has teachers.
    """

    images: PaddedBags
    sentences: PaddedBags
    owners: Tensor
    scores: Tensor
    taught: Tensor | None = None

    @property
    def true(self) -> Tensor:
        """Where an image meets one of its own sentences, (K, L)."""
        images = torch.arange(len(self.scores), device=self.scores.device)
        return images[:, None] == self.owners[None, :]
