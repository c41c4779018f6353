"""Batches of images and sentences that are learned together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Batch:
    """Images and their sentences, positions in a split's lists.

    images has no position twice; sentences[l] belongs to images[owners[l]].
    """

    images: tuple[int, ...]
    sentences: tuple[int, ...]
    owners: tuple[int, ...]


def batches(
    counts: Sequence[int], size: int, seed: int, epoch: int, sentences: int = 1
) -> Iterator[Batch]:
    """Every pair of an epoch once, shuffled; counts[k] is how many sentences image k has.

    An epoch goes in rounds: a round takes `sentences` sentences of each image, one for pairs alone,
    more for objectives that want neighbours (Wang et al. 2016, section 3.2). `size` images make
    a batch. The order depends on seed and epoch alone, so a resumed run sees what an unbroken one
    would. Rests of one image are left out: they have nothing to be ranked against. Sentence
    positions count through all images' sentences in order.
    """
    generator = torch.Generator().manual_seed(seed * 100_003 + epoch)
    starts = torch.tensor([0, *counts]).cumsum(0).tolist()
    turns = [torch.randperm(count, generator=generator).tolist() for count in counts]
    for turn in range(0, max(counts), sentences):
        order = torch.randperm(len(counts), generator=generator).tolist()
        images = [image for image in order if counts[image] > turn]
        for first in range(0, len(images), size):
            chosen = images[first : first + size]
            if len(chosen) > 1:
                said = [
                    (starts[image] + which, owner)
                    for owner, image in enumerate(chosen)
                    for which in turns[image][turn : turn + sentences]
                ]
                positions, owners = zip(*said, strict=True)
                yield Batch(tuple(chosen), positions, owners)


def steps(counts: Sequence[int], size: int, sentences: int = 1) -> int:
    """How many batches an epoch has."""
    return sum(1 for _ in batches(counts, size, 0, 0, sentences))
