"""What a matcher learns from others: the scores that they give to its batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.checkpoint import Checkpoint
from models.scoring import SCORES
from models.types import PaddedBags
from training.cache import cached, digest, file_digest, taken
from training.data.batches import Batch
from training.data.corpus import Example
from training.folder import Place
from training.frozen import Frozen
from training.loop import encoded, numbers
from training.matching import TrainableMatcher
from training.progress import Progress, silent

Encode = Callable[[PaddedBags], PaddedBags]


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


def read(
    given: Checkpoint,
    examples: Sequence[Example],
    place: Place,
    precision: str,
    progress: Progress = silent,
) -> Teacher:
    """A checkpoint as a teacher of examples; what it makes of them is kept in place.cache."""
    matcher: TrainableMatcher = given.model
    pairs = Frozen(matcher, place, precision, progress).pairs(examples, "train")
    seen = [text for one in examples for text in (file_digest(one.image), *one.sentences)]
    key = digest(given.fingerprint, precision, matcher.image_key(), matcher.sentence_key(), *seen)

    def bags(encode: Encode, inputs: Sequence[Tensor], what: str) -> Sequence[Tensor]:
        positions = range(len(inputs))
        return cached(
            place.cache / "taught",
            f"{key} {what}",
            positions,
            [str(position) for position in positions],
            lambda some: encoded(encode, taken(inputs, some), place.device),
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
