"""Teachers: the scores that other matchers give to a matcher's batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from models import checkpoint
from models.checkpoint import Checkpoint
from models.scoring import SCORES
from models.types import PaddedBags
from training.cache import cached, digest, file_digest, taken
from training.data.batches import Batch
from training.data.corpus import Example
from training.folder import Place
from training.frozen import Frozen
from training.matching import Pairs, Taught, encoded, numbers
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


def teacher_scores(
    files: Sequence[Path],
    examples: Sequence[Example],
    place: Place,
    precision: str,
    progress: Progress = silent,
) -> Taught:
    """What checkpoints together make of batches of examples."""
    seen = digest(*(text for e in examples for text in (file_digest(e.image), *e.sentences)))

    def read(file: Path) -> Teacher:
        given = checkpoint.load(file, place.device)
        frozen = Frozen(given.model, place, precision, progress)
        return teacher(given, frozen, frozen.pairs(examples, "train"), seen)

    return partial(mean_scores, [read(file) for file in files], device=place.device)


def teacher(given: Checkpoint, frozen: Frozen, pairs: Pairs, seen: str) -> Teacher:
    """A checkpoint as a teacher of inputs, whose digest is `seen`: its bags are kept on disk."""
    matcher, place = frozen.matcher, frozen.place
    key = digest(
        given.fingerprint, frozen.precision, matcher.image_key(), matcher.sentence_key(), seen
    )

    def bags(encode: Encode, inputs: Sequence[Tensor], what: str) -> Sequence[Tensor]:
        positions = range(len(inputs))
        return cached(
            place.cache / "taught",
            f"{key} {what}",
            positions,
            [str(position) for position in positions],
            lambda some: encoded(encode, taken(inputs, some), place.device),
            frozen.progress,
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
