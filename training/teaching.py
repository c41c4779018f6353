"""What a matcher learns from others: the scores that they give to its batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from models.scoring import SCORES
from models.types import PaddedBags
from training.cache import cached, taken
from training.data.batches import Batch
from training.loop import Pairs, encoded, numbers
from training.matching import TrainableMatcher
from training.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained matcher's bags of every image and sentence of train, and how it scores them."""

    images: Sequence[Tensor]
    sentences: Sequence[Tensor]
    score: str

    def scores(self, batch: Batch, device: str) -> Tensor:
        """What it makes of a batch, (K, L)."""
        images = numbers(taken(self.images, batch.images), device)
        sentences = numbers(taken(self.sentences, batch.sentences), device)
        return SCORES[self.score](images, sentences)


def teacher(
    matcher: TrainableMatcher,
    key: str,
    pairs: Pairs,
    folder: Path,
    device: str,
    progress: Progress = silent,
) -> Teacher:
    """A matcher as a teacher of inputs; what it makes of them is kept in `folder` by `key`."""
    matcher.train(False)

    def bags(
        encode: Callable[[PaddedBags], PaddedBags], inputs: Sequence[Tensor], what: str
    ) -> Sequence[Tensor]:
        places = range(len(inputs))
        return cached(
            folder,
            f"{key} {what}",
            places,
            [str(place) for place in places],
            lambda some: encoded(encode, taken(inputs, some), device),
            progress,
            f"{what} of a teacher",
        )

    return Teacher(
        bags(matcher.encode_images, pairs.images, "photos"),
        bags(matcher.encode_sentences, pairs.sentences, "sentences"),
        matcher.score,
    )


def mean_scores(teachers: Sequence[Teacher], batch: Batch, device: str) -> Tensor:
    """What teachers together make of a batch, (K, L)."""
    return torch.stack([one.scores(batch, device) for one in teachers]).mean(0)
