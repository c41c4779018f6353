"""Language of a captioner from text alone, before photos and beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.captioners.attentive import text_vectors
from models.captioning import Captioner
from models.matcher import Matcher
from training.cache import cached, digest
from training.captioning import PADDING, CaptionBatch, CaptionDataset, shifted
from training.data import text
from training.data.corpus import Corpus
from training.loop import half_precision, shuffled
from training.progress import Progress

VECTORS = 512  # sentences that pass the matcher at once


@dataclass(frozen=True, slots=True)
class Options:
    """The first `epochs` have `alone` sentences a step and no photo, later ones `beside` photos'.

    `weight` is that of the loss of these. With `names` the texts hold those of ImageNet's classes.
    """

    epochs: int = 2
    alone: int = 256
    beside: int = 64
    weight: float = 0.5
    names: bool = True


@dataclass(frozen=True, slots=True)
class TextBatch:
    """N sentences: vectors (N, D) in the joint space, words given and targets (N, T), padded."""

    vectors: Tensor
    given: Tensor
    targets: Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """What a step learns from: photos with their sentences, text alone, or both."""

    photos: CaptionBatch | None
    texts: TextBatch | None


@dataclass(frozen=True, slots=True)
class MixedDataset:
    """Photos of a dataset, with text before them and beside them."""

    photos: CaptionDataset
    vectors: Tensor  # (N, D)
    sentences: Sequence[Tensor]  # word indices (T,) of N texts
    options: Options

    @property
    def steps(self) -> int:
        """As many batches as the photos have, in every epoch."""
        return self.photos.steps

    def batches(self, epoch: int) -> Iterator[Step]:
        """Some of the text alone at first; then photos with some of it."""
        alone = epoch <= self.options.epochs
        size = self.options.alone if alone else self.options.beside
        orders = iter(lambda: shuffled(len(self.sentences), max(1, size)), None)
        texts = map(self.batch, chain.from_iterable(orders))
        if alone:
            yield from (Step(None, batch) for batch in islice(texts, self.steps))
            return
        for photos in self.photos.batches(epoch):
            yield Step(photos, next(texts) if self.options.beside else None)

    def batch(self, positions: Sequence[int]) -> TextBatch:
        """Some of the sentences."""
        given, targets = shifted([self.sentences[one] for one in positions])
        return TextBatch(self.vectors[list(positions)], given, targets)


def texts(corpus: Corpus, file: Path | None, options: Options) -> list[str]:
    """Train's sentences and a file's that are of no other split, and names in plain sentences."""
    own = [sentence for example in corpus.split("train") for sentence in example.sentences]
    found = text.unseen([*own, *(text.lines(file) if file else ())], corpus)
    found = list(dict.fromkeys(found))
    if not options.names:
        return found
    words = {word for sentence in found for word in text.caption_words(sentence)}
    return found + text.named(words)


def vectors(
    matcher: Matcher,
    fingerprint: str,
    sentences: Sequence[str],
    folder: Path,
    precision: str,
    progress: Progress,
) -> Tensor:
    """Vectors (N, D) of length one in a matcher's joint space, from the cache or into it."""
    joint = matcher.image.config.embedding

    def joint_vectors(some: Sequence[str]) -> list[Tensor]:
        with half_precision("cpu", precision):
            return list(text_vectors(matcher, some, joint)[:, None])

    found = cached(
        folder / "texts",
        f"{precision} joint {fingerprint}",
        list(sentences),
        [digest(sentence) for sentence in sentences],
        joint_vectors,
        progress,
        "texts",
    )
    return F.normalize(torch.cat([found[at] for at in range(len(found))]), dim=-1)


def text_logits(model: Captioner, batch: TextBatch, device: str) -> tuple[Tensor, Tensor]:
    """Logits (W, V) of the W real words of a batch, and the targets (W,)."""
    language = model.language
    given, targets = batch.given.to(device), batch.targets.to(device)
    outputs, state = language(given, language.look_at_texts(batch.vectors.to(device)))
    real = targets != PADDING
    return language.logits_where(real, outputs, state), targets[real]
