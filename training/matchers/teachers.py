"""Teachers: other matchers' scores of a matcher's batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from models import checkpoint
from models.checkpoint import Checkpoint
from models.scores.scoring import SCORES
from models.types import PaddedBags
from training.data.batches import Batch
from training.data.corpus import Example
from training.data.digests import digest, file_digest
from training.matchers.frozen import FrozenInputs
from training.matchers.matching import Pairs, TeacherScores, encode_all, pad
from training.runs.cache import load_or_compute, take
from training.runs.folder import RunPlace
from training.runs.progress import Progress, silent

Encode = Callable[[PaddedBags], PaddedBags]


@dataclass(frozen=True, slots=True)
class Teacher:
    """A trained matcher's bags of train, and its score."""

    images: Sequence[Tensor]
    sentences: Sequence[Tensor]
    score: str

    def scores(self, batch: Batch, device: str) -> Tensor:
        """Score a batch, (K, L)."""
        images = pad(take(self.images, batch.images), device)
        sentences = pad(take(self.sentences, batch.sentences), device)
        return SCORES[self.score](images, sentences)


def load_teachers(
    files: Sequence[Path],
    examples: Sequence[Example],
    place: RunPlace,
    precision: str,
    progress: Progress = silent,
) -> TeacherScores:
    """Load checkpoints as one scorer of batches of examples."""
    inputs_digest = digest(
        *(text for example in examples for text in (file_digest(example.image), *example.sentences))
    )

    def read(file: Path) -> Teacher:
        loaded = checkpoint.load(file, place.device)
        frozen = FrozenInputs(loaded.model, place, precision, progress)
        return make_teacher(loaded, frozen, frozen.pairs(examples, "train"), inputs_digest)

    return partial(mean_scores, [read(file) for file in files], device=place.device)


def make_teacher(
    loaded: Checkpoint, frozen: FrozenInputs, pairs: Pairs, inputs_digest: str
) -> Teacher:
    """Make a teacher of a checkpoint; its bags are in the cache.

    `inputs_digest` identifies the inputs.
    """
    matcher, place = frozen.matcher, frozen.place
    key = digest(
        loaded.fingerprint,
        frozen.precision,
        matcher.image_key(),
        matcher.sentence_key(),
        inputs_digest,
    )

    def bags(encode: Encode, inputs: Sequence[Tensor], side: str) -> Sequence[Tensor]:
        positions = range(len(inputs))
        return load_or_compute(
            place.cache / "taught",
            f"{key} {side}",
            positions,
            [str(position) for position in positions],
            lambda batch: encode_all(encode, take(inputs, batch), place.device),
            frozen.progress,
            f"{side} of a teacher",
        )

    return Teacher(
        bags(matcher.encode_images, pairs.images, "photos"),
        bags(matcher.encode_sentences, pairs.sentences, "sentences"),
        matcher.score,
    )


def mean_scores(teachers: Sequence[Teacher], batch: Batch, device: str) -> Tensor:
    """Compute the mean of teachers' scores (K, L) of a batch."""
    return torch.stack([member.scores(batch, device) for member in teachers]).mean(0)
