"""Batches of captions: photos with their sentences, and sentences alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from models.captioners.attentive import Attentive
from models.captions.captioning import FIRST_WORD, UNKNOWN, Language
from models.captions.decoding import END, State
from models.types import PaddedBags
from training.captioners.vocabulary import caption_words
from training.runs.loop import shuffle

PADDING = -1  # the target of padding


@dataclass(frozen=True, slots=True)
class CaptionBatch:
    """K photos' frozen inputs (K, F, C), and N sentences of these photos.

    owners (N,) are the photos of the sentences; given and targets (N, T) are padded words;
    positions are the photos' places in the dataset.
    """

    photos: Tensor
    owners: Tensor
    given: Tensor
    targets: Tensor
    positions: Sequence[int]

    def state(self, language: Language, device: str) -> State:
        """Return the first state of each sentence.

        Features are read once a photo.
        """
        owners = self.owners.to(device)
        state = language.look(PaddedBags.of(list(self.photos)).to(device))
        return tuple(part[owners] for part in state)

    def of(self, owners: Tensor, sentences: Sequence[Tensor]) -> CaptionBatch:
        """The same photos with other sentences, word indices (T,) each."""
        return CaptionBatch(self.photos, owners, *shift(sentences), self.positions)


@dataclass(frozen=True, slots=True)
class TextBatch:
    """N sentences: vectors (N, D) in a matcher's joint space, words (N, T)."""

    vectors: Tensor
    given: Tensor
    targets: Tensor

    def state(self, language: Language, device: str) -> State:
        """Return the first state of each sentence.

        The sentence stands for a photo itself.
        """
        assert isinstance(language, Attentive)
        return language.look_at_texts(self.vectors.to(device))


Batches = tuple[CaptionBatch | TextBatch, ...]  # the batches of a step


@dataclass(frozen=True, slots=True)
class CaptionDataset:
    """Frozen inputs (F, C) of K photos, and their sentences as word indices (T,)."""

    photos: Sequence[Tensor]
    sentences: Sequence[Sequence[Tensor]]
    size: int  # photos in a batch

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        return -(-len(self.sentences) // self.size)

    def batches(self, epoch: int) -> Iterable[Batches]:  # noqa: ARG002 - the order is drawn
        """All sentences of every photo once, photos in a new order."""
        return ((self.batch(positions),) for positions in shuffle(len(self.sentences), self.size))

    def batch(self, positions: Sequence[int]) -> CaptionBatch:
        """The sentences of some photos."""
        counts = torch.tensor([len(self.sentences[position]) for position in positions])
        inputs, targets = shift(
            [line for position in positions for line in self.sentences[position]]
        )
        return CaptionBatch(
            photos=torch.stack([self.photos[position] for position in positions]),
            owners=torch.arange(len(positions)).repeat_interleave(counts),
            given=inputs,
            targets=targets,
            positions=positions,
        )


@dataclass(frozen=True, slots=True)
class MixedDataset:
    """Text alone in the first epochs, then photos and text together.

    The texts are vectors (N, D) in a matcher's joint space and word indices (T,). The first
    `epochs` have `alone` texts a step, later ones `beside`. An epoch has as many steps as the
    photos.
    """

    photos: CaptionDataset
    vectors: Tensor
    texts: Sequence[Tensor]
    epochs: int
    alone: int
    beside: int

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        return self.photos.steps

    def batches(self, epoch: int) -> Iterator[Batches]:
        """Give texts in a new order.

        After the first epochs, every photo too.
        """
        if epoch <= self.epochs:
            yield from ((batch,) for batch in islice(self.draw(self.alone), self.steps))
        elif not self.beside:
            yield from self.photos.batches(epoch)
        else:
            text_batches = self.draw(self.beside)
            for photos in self.photos.batches(epoch):
                yield (*photos, next(text_batches))

    def draw(self, size: int) -> Iterator[TextBatch]:
        """Batches of all texts in a new order, then in another one."""
        orders = iter(lambda: shuffle(len(self.texts), size), None)
        return map(self.batch, chain.from_iterable(orders))

    def batch(self, positions: Sequence[int]) -> TextBatch:
        """Some of the texts."""
        inputs, targets = shift([self.texts[position] for position in positions])
        return TextBatch(self.vectors[list(positions)], inputs, targets)


def shift(sentences: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Make given words and targets (N, T + 1) of sentences, padded.

    Given words start with END and targets end with it, as in decoding.
    """
    end = torch.tensor([END])
    inputs = pad_sequence([torch.cat([end, line]) for line in sentences], True, END)
    targets = pad_sequence([torch.cat([line, end]) for line in sentences], True, PADDING)
    return inputs, targets


def word_indices(texts: Sequence[str], words: Sequence[str], longest: int) -> list[Tensor]:
    """Turn sentences into word indices (T,), cut to a caption's longest length."""
    numbers = {word: number for number, word in enumerate(words, FIRST_WORD)}
    captions = (caption_words(text)[:longest] for text in texts)
    return [
        torch.tensor([numbers.get(word, UNKNOWN) for word in caption], dtype=torch.long)
        for caption in captions
    ]
