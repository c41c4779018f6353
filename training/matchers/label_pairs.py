"""Photos with complete labels in training: drawing and scoring of their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from training.data.batches import LabelBatch
from training.data.label_texts import LabelTexts


@dataclass(frozen=True, slots=True)
class LabelOptions:
    """A step's numbers of photos with labels, and of pairs.

    Every label comes once in each step, in one of its wordings; a pair is a text about two labels.
    """

    photos: int = 256
    pairs: int = 40

    def __post_init__(self) -> None:
        if self.photos < 2 or self.pairs < 0:
            raise ValueError(
                f"[labels] has {self.photos} photos and {self.pairs} pairs: use at least 2 and 0"
            )


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Photos with labels, their texts, and frozen inputs of these."""

    made: LabelTexts
    inputs: Sequence[Tensor]
    options: LabelOptions

    def draw(self, seed: int, epoch: int) -> Iterator[LabelBatch]:
        """Draw batches without end: all photos once, then again.

        The order depends on seed and epoch alone.
        """
        generator = torch.Generator().manual_seed(seed * 100_003 + epoch)
        waiting: list[int] = []
        while True:
            while len(waiting) < self.options.photos:
                waiting += torch.randperm(len(self.made.photos), generator=generator).tolist()
            photos, waiting = waiting[: self.options.photos], waiting[self.options.photos :]
            yield LabelBatch(tuple(photos), self.draw_texts(generator))

    def draw_texts(self, generator: torch.Generator) -> tuple[int, ...]:
        """Draw a wording of each label, and some texts about two labels."""
        drawn = torch.rand(len(self.made.groups), generator=generator).tolist()
        worded = [
            group[int(len(group) * share)]
            for group, share in zip(self.made.groups, drawn, strict=True)
        ]
        order = torch.randperm(len(self.made.pairs), generator=generator)[: self.options.pairs]
        return (*worded, *(self.made.pairs[at] for at in order.tolist()))

    def true(self, batch: LabelBatch) -> Tensor:
        """Whether a batch's texts are true of its photos, (P, N)."""
        return self.made.true[list(batch.photos)][:, list(batch.texts)]

    def images(self, batch: LabelBatch) -> list[int]:
        """The positions of a batch's photos among all."""
        return [self.made.photos[photo] for photo in batch.photos]
