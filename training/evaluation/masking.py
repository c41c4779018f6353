"""Masking: an encoder's score without its explaining box.

The referee knows nothing of boxes, so that it can tell which boxes explain best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import mean

import torch
import torch.nn.functional as F
from torch import Tensor

from models.matcher import TwoTowerMatcher
from models.types import Box
from training.data.corpus import Example
from training.evaluation.embedding import read_pixels
from training.evaluation.occlusion import far_corner, grey


@dataclass(slots=True)
class Masking:
    """Falls of cosines of photos and their first sentences, computed once.

    photos (K, D) and sentences, each (T, D) of parts, have vectors of length one; boxes (K, R, 4).
    Results are stored in `cached`.
    """

    matcher: TwoTowerMatcher
    examples: Sequence[Example]
    photos: Tensor
    sentences: Sequence[Tensor]
    boxes: Sequence[Tensor]
    cached: dict[tuple[int, Box], float] = field(default_factory=dict)

    def falls(self, apart: Iterable[Tensor]) -> tuple[float, float]:
        """Compute mean falls with the best or another box grey.

        The other box is equal and far away.

        The second box lies in the farthest corner. `apart` (K, R, D) are the boxes' differences.
        The best box adds most to all words together.
        """
        chosen = [self.best(k, vectors) for k, vectors in enumerate(apart)]
        at_best = [self.fall(k, box) for k, box in enumerate(chosen)]
        elsewhere = [self.fall(k, far_corner(box)) for k, box in enumerate(chosen)]
        return mean(at_best), mean(elsewhere)

    def best(self, k: int, apart: Tensor) -> Box:
        """Find the box with the most for photo k's linked words."""
        similarities, linked = (self.sentences[k] @ apart.T).max(dim=1)  # (T,)
        added = torch.zeros(len(apart)).index_add(0, linked, similarities)
        added[0] = -1  # the photo is no box
        return Box(*self.boxes[k][int(added.argmax())].tolist())

    @torch.inference_mode()
    def fall(self, k: int, box: Box) -> float:
        """Compute the fall of photo k's cosine without a box."""
        if (k, box) not in self.cached:
            photo = grey(read_pixels(self.examples[k].image), box)
            vector = F.normalize(self.matcher.image_inputs([photo])[0][0].cpu(), dim=-1)
            before, after = (
                self.sentences[k].sum(0) @ embedding for embedding in (self.photos[k], vector)
            )
            self.cached[k, box] = float(before - after)
        return self.cached[k, box]
