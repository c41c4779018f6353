"""Outstanding regions among all photos, for a snippet of text or by their own length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.types import WHOLE_FRAME, Box, FragmentBag
from training.evaluation.scores import score_matrix


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the photo at a position, and what it is ranked by."""

    photo: int
    box: Box
    value: float


def answering(
    images: Sequence[FragmentBag], snippet: FragmentBag, score: str, count: int
) -> list[Region]:
    """The regions that score highest with a snippet (Karpathy & Fei-Fei 2015, figures 9 and 10).

    A region's value is the matcher's score of a photo that has this region alone: with sum_of_max
    Σ_t v_iᵀ s_t.
    """
    single_regions = [vector[None] for bag in images for vector in bag.vectors]  # (1, D) each
    values = torch.from_numpy(score_matrix(single_regions, [snippet.vectors], score)[:, 0])  # (N,)
    return best(images, torch.split(values, [len(bag) for bag in images]), count)


def longest(images: Sequence[FragmentBag], count: int) -> list[Region]:
    """The regions with the largest |v_i| (Karpathy & Fei-Fei 2015, figure 8)."""
    return best(images, [bag.vectors.norm(dim=1) for bag in images], count)


def best(images: Sequence[FragmentBag], values: Sequence[Tensor], count: int) -> list[Region]:
    """Each photo's best region by its values (R,), of these the `count` best.

    One a photo, as boxes overlap; the whole frame only where a photo has nothing else.
    """
    regions = []
    for photo, (bag, photo_values) in enumerate(zip(images, values, strict=True)):
        parts = [at for at, place in enumerate(bag.places) if place != WHOLE_FRAME] or [0]
        region = parts[int(photo_values[parts].argmax())]
        place = bag.places[region]
        assert isinstance(place, Box)
        regions.append(Region(photo, place, float(photo_values[region])))
    return sorted(regions, key=lambda best_region: -best_region.value)[:count]
