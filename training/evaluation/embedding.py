"""Bags of many photos and sentences, embedded a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from models import matcher as composed
from models.registry import Matcher
from models.types import FragmentBag, PaddedBags
from models.vision.images import decode
from training.data.corpus import Example
from training.runs.progress import Progress, silent

Item = TypeVar("Item")
BATCH = 32


def embed_photos(
    matcher: Matcher, examples: Sequence[Example], progress: Progress
) -> list[FragmentBag]:
    """The bag of every example's photo."""
    return embed(
        lambda part: matcher.embed_images(read_photos(part)),
        [example.image for example in examples],
        progress,
        "photos",
    )


@torch.inference_mode()
def encode_inputs(
    matcher: composed.TwoTowerMatcher, inputs: Sequence[Tensor], progress: Progress = silent
) -> list[Tensor]:
    """Encode photos' frozen inputs (F, C) as vectors (R, D), without boxes."""
    starts = range(0, len(inputs), BATCH)
    return [
        vectors
        for at in progress(starts, len(starts), "encoding")
        for vectors in composed.unpad(matcher.image_bags(PaddedBags.of(inputs[at : at + BATCH])))
    ]


def embed(
    embed: Callable[[Sequence[Item]], list[FragmentBag]],
    items: Sequence[Item],
    progress: Progress,
    what: str,
) -> list[FragmentBag]:
    """The bag of every item, a batch at a time."""
    starts = range(0, len(items), BATCH)
    return [
        bag for at in progress(starts, len(starts), what) for bag in embed(items[at : at + BATCH])
    ]


def read_photos(paths: Sequence[Path]) -> list[Tensor]:
    """Read photos' pixels at once, as read_pixels does."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(read_pixels, paths))


def read_pixels(path: Path) -> Tensor:
    """Read a photo's pixels, uint8 (3, height, width); ValueError names a broken file."""
    try:
        return decode(path.read_bytes()).pixels
    except ValueError as broken:
        raise ValueError(f"{path}: {broken}") from broken
