"""Frozen inputs of a split, computed once and kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from models.checkpoint import Checkpoint
from models.matcher import TwoTowerMatcher
from training.data.corpus import Example
from training.data.digests import digest, file_digest
from training.data.label_texts import LabelTexts
from training.data.truth import PairTruth
from training.evaluation.embedding import read_photos
from training.matchers.augmentation import AS_THEY_ARE, Augmentation, SeenPhotos
from training.matchers.label_pairs import LabelOptions, LabelPairs
from training.matchers.matching import Pairs
from training.runs.cache import Repeated, load_or_compute
from training.runs.folder import RunPlace
from training.runs.precision import half_precision
from training.runs.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class FrozenInputs:
    """A matcher's frozen part, with outputs in the cache."""

    matcher: TwoTowerMatcher
    place: RunPlace
    precision: str
    progress: Progress = silent

    def pairs(
        self,
        examples: Sequence[Example],
        split: str,
        *,
        augmentation: Augmentation = AS_THEY_ARE,
        labels: LabelOptions | None = None,
    ) -> Pairs:
        """Return a split's frozen inputs, and mirrored photos', through the cache.

        With `labels` also those of texts of labels. ValueError for crops of a network that does not
        learn: it sees each photo once.
        """
        if augmentation.cropped < 1 and not self.matcher.tuned:
            raise ValueError("cropped is for a CNN that learns: set tuned = true in [model.image]")
        sentences = [sentence for example in examples for sentence in example.sentences]
        texts = list(dict.fromkeys(sentences))
        images = self.photos(examples, split, augmentation)
        twice = augmentation.mirrored and not self.matcher.tuned
        mirrored_images = self.photos(examples, split, mirrored=True) if twice else None
        inputs = self.texts(texts, f"{split}'s sentences")
        numbers = {text: number for number, text in enumerate(texts)}
        repeated = Repeated(inputs, [numbers[sentence] for sentence in sentences])
        counts = tuple(len(example.sentences) for example in examples)
        kinds = tuple(example.kind for example in examples)
        truth = PairTruth(examples) if any(example.weights for example in examples) else None
        label_pairs = self.labels(examples, labels) if labels else None
        return Pairs(
            images, repeated, counts, truth, kinds, mirrored=mirrored_images,
            labels=label_pairs, labelled=tuple(example.labels is not None for example in examples),
        )  # fmt: skip

    def labels(self, examples: Sequence[Example], options: LabelOptions) -> LabelPairs:
        """Return the frozen inputs of texts of labels; ValueError without labels."""
        made = LabelTexts.of(examples)
        return LabelPairs(made, self.texts(made.texts, "texts of labels"), options)

    def texts(self, texts: Sequence[str], what: str) -> Sequence[Tensor]:
        """Return the frozen inputs of distinct texts."""
        return load_or_compute(
            self.place.cache / "sentences",
            f"{self.precision} {self.matcher.sentence_key()}",
            texts,
            [digest(text) for text in texts],
            self.sentence_inputs,
            self.progress,
            f"features of {what}",
        )

    def photos(
        self,
        examples: Sequence[Example],
        split: str,
        augmentation: Augmentation = AS_THEY_ARE,
        *,
        mirrored: bool = False,
    ) -> Sequence[Tensor]:
        """Return the frozen inputs of photos, or of mirror images.

        Those of a CNN that learns are computed each time, of photos changed at random.
        """
        paths = [example.image for example in examples]
        compute = self.mirror_inputs if mirrored else self.image_inputs
        if self.matcher.tuned:
            return SeenPhotos(paths, self.inputs_of, augmentation, self.place.device)
        return load_or_compute(
            self.place.cache / "images",
            f"{self.precision} {self.matcher.image_key()}{' mirrored' * mirrored}",
            paths,
            [file_digest(path) for path in paths],
            compute,
            self.progress,
            f"features of {split}'s {'mirrored ' * mirrored}photos",
        )

    def image_inputs(self, paths: Sequence[Path]) -> list[Tensor]:
        """The frozen part of photos."""
        return self.inputs_of(read_photos(paths))

    def mirror_inputs(self, paths: Sequence[Path]) -> list[Tensor]:
        """The frozen part of photos with left and right changed."""
        return self.inputs_of([pixels.flip(-1) for pixels in read_photos(paths)])

    def inputs_of(self, photos: Sequence[Tensor]) -> list[Tensor]:
        """Compute the frozen part of uint8 photos (3, H, W), in the run's precision."""
        with half_precision(self.place.device, self.precision):
            return self.matcher.image_inputs(photos)

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """The frozen part of sentences, always in full precision: it is cheap."""
        return self.matcher.sentence_inputs(texts)


def precision_of(loaded: Checkpoint) -> str:
    """Return the precision of a checkpoint's features in training."""
    facts = loaded.facts
    schedule = (facts.get("recipe") or facts.get("preset") or {}).get("schedule", {})
    return str(schedule.get("precision", "float32"))
