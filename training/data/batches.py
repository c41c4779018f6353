"""Which image-sentence pairs are learned together: never two sentences of one image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs: images[k] belongs with sentences[k]. Both are positions in a split's lists."""

    images: tuple[int, ...]
    sentences: tuple[int, ...]


def batches(counts: Sequence[int], size: int, seed: int, epoch: int) -> Iterator[Batch]:
    """Every pair of an epoch once, shuffled; counts[k] is how many sentences image k has.

    A ranking objective takes every off-diagonal pair for a false one, so an epoch goes in rounds
    and a round takes one sentence of each image. The order depends on seed and epoch alone, so
    a resumed run sees what an unbroken one would. Rests of one pair are left out: they have
    nothing to be ranked against. Sentence positions count through all images' sentences in order.
    """
    generator = torch.Generator().manual_seed(seed * 100_003 + epoch)
    starts = torch.tensor([0, *counts]).cumsum(0).tolist()
    turns = [torch.randperm(count, generator=generator).tolist() for count in counts]
    for turn in range(max(counts)):
        order = torch.randperm(len(counts), generator=generator).tolist()
        images = [image for image in order if counts[image] > turn]
        for first in range(0, len(images), size):
            chosen = images[first : first + size]
            if len(chosen) > 1:
                sentences = tuple(starts[image] + turns[image][turn] for image in chosen)
                yield Batch(tuple(chosen), sentences)


def steps(counts: Sequence[int], size: int) -> int:
    """How many batches an epoch has."""
    return sum(1 for _ in batches(counts, size, seed=0, epoch=0))
