"""Batches of images and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import torch


@dataclass(frozen=True, slots=True)
class Sampling:
    """An epoch's part of a split, and its mixing.

    rounds: sentences of each photo, repeated if it has fewer; 0 for all. alike: photos of one kind
    in a row in a batch, so that shirts are told from shirts and not only from shoes.
    """

    rounds: int = 0
    alike: int = 1

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.alike < 1:
            raise ValueError(f"{self.rounds} rounds, {self.alike} alike: use at least 0 and 1")


ALL = Sampling()


@dataclass(frozen=True, slots=True)
class LabelBatch:
    """Positions of photos with labels, and of texts of labels."""

    photos: tuple[int, ...]
    texts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Images and their sentences, positions in a split's lists.

    images has no position twice; sentences[l] belongs to images[owners[l]]. labels are further
    photos, of a training from labels.
    """

    images: tuple[int, ...]
    sentences: tuple[int, ...]
    owners: tuple[int, ...]
    labels: LabelBatch | None = None


def batches(
    counts: Sequence[int],
    size: int,
    seed: int,
    epoch: int,
    sentences: int = 1,
    sampling: Sampling = ALL,
    kinds: Sequence[str] = (),
) -> Iterator[Batch]:
    """Give every pair of an epoch once, shuffled; image k has counts[k] sentences.

    An epoch goes in rounds: a round takes `sentences` sentences of each image, one for pairs alone,
    more for objectives with neighbours (Wang et al. 2016, section 3.2). `size` images make a batch.
    The order depends on seed and epoch alone, so a resumed run sees the same batches. kinds[k] is
    the kind of image k, for a sampling that groups kinds. Batches of one image are left out: they
    have no rivals. Sentence positions count through all images' sentences in order.
    """
    generator = torch.Generator().manual_seed(seed * 100_003 + epoch)
    starts = torch.tensor([0, *counts]).cumsum(0).tolist()
    turns = [torch.randperm(count, generator=generator).tolist() for count in counts]
    if sampling.rounds:  # a photo with fewer sentences brings them again
        turns = [list(islice(cycle(permutation), sampling.rounds)) for permutation in turns]
    for turn in range(0, max(map(len, turns)), sentences):
        order = torch.randperm(len(counts), generator=generator).tolist()
        images = [image for image in order if len(turns[image]) > turn]
        if kinds and sampling.alike > 1:
            images = group_by_kind(images, kinds, sampling.alike, generator)
        for first in range(0, len(images), size):
            chosen = images[first : first + size]
            if len(chosen) > 1:
                pairs = [
                    (starts[image] + sentence, owner)
                    for owner, image in enumerate(chosen)
                    for sentence in turns[image][turn : turn + sentences]
                ]
                positions, owners = zip(*pairs, strict=True)
                yield Batch(tuple(chosen), positions, owners)


def group_by_kind(
    images: Sequence[int], kinds: Sequence[str], run: int, generator: torch.Generator
) -> list[int]:
    """Order images in runs of one kind, with the runs shuffled."""
    of_kind: dict[str, list[int]] = {}
    for image in images:
        of_kind.setdefault(kinds[image], []).append(image)
    runs = [
        members[at : at + run] for members in of_kind.values() for at in range(0, len(members), run)
    ]
    return [
        image
        for index in torch.randperm(len(runs), generator=generator).tolist()
        for image in runs[index]
    ]


def count_batches(
    counts: Sequence[int], size: int, sentences: int = 1, sampling: Sampling = ALL
) -> int:
    """Count the batches of an epoch."""
    return sum(1 for _ in batches(counts, size, 0, 0, sentences, sampling))
