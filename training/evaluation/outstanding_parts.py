"""Outstanding regions, relations and words of a matcher.

Regions stand out for a snippet of text, or by their own length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.text.trees import DependencyEncoder
from models.text_towers import composed
from models.types import WHOLE_FRAME, WHOLE_SENTENCE, Box, FragmentBag
from training.evaluation.score_matrix import score_matrix


@dataclass(frozen=True, slots=True)
class RankedRegion:
    """A part of the photo at a position, and its value."""

    photo: int
    box: Box
    value: float


def rank_regions(
    images: Sequence[FragmentBag], snippet: FragmentBag, score: str, count: int
) -> list[RankedRegion]:
    """Rank regions by a snippet (Karpathy & Fei-Fei 2015, figures 9 and 10).

    A region's value is the matcher's score of a photo with this region alone: with sum_of_max Σ_t
    v_iᵀ s_t.
    """
    single_regions = [vector[None] for bag in images for vector in bag.vectors]  # (1, D) each
    values = torch.from_numpy(score_matrix(single_regions, [snippet.vectors], score)[:, 0])  # (N,)
    return choose_best(images, torch.split(values, [len(bag) for bag in images]), count)


def find_longest(images: Sequence[FragmentBag], count: int) -> list[RankedRegion]:
    """The regions with the largest |v_i| (Karpathy & Fei-Fei 2015, figure 8)."""
    return choose_best(images, [bag.vectors.norm(dim=1) for bag in images], count)


def choose_best(
    images: Sequence[FragmentBag], values: Sequence[Tensor], count: int
) -> list[RankedRegion]:
    """Choose each photo's best region by values (R,), of these the `count` best.

    There is one a photo, as boxes overlap; the whole frame only without any other region.
    """
    regions = []
    for photo, (bag, photo_values) in enumerate(zip(images, values, strict=True)):
        parts = [at for at, place in enumerate(bag.places) if place != WHOLE_FRAME] or [0]
        region = parts[int(photo_values[parts].argmax())]
        place = bag.places[region]
        assert isinstance(place, Box)
        regions.append(RankedRegion(photo, place, float(photo_values[region])))
    return sorted(regions, key=lambda best_region: -best_region.value)[:count]


OTHERS = "others"  # the kinds that share a matrix


@dataclass(frozen=True, slots=True)
class Composition:
    """A kind of edge, a relation or position, and its matrix's Frobenius norm."""

    kind: str
    norm: float


def compositions(tower: nn.Module) -> list[Composition]:
    """‖W_kind‖_F of every kind of edge, the largest first   (Socher et al. 2014, section 6.7).

    Matrices start as the identity plus noise, whose norm is about √H. ValueError for a text tower
    that does not compose along dependency trees.
    """
    if not isinstance(tower, composed.Model) or not isinstance(tower.compose, DependencyEncoder):
        raise ValueError("no matrix a relation or position: give an SDT-RNN or DT-RNN")
    config: composed.Config = tower.config
    if config.composition == "relation":
        kinds = [OTHERS, *config.relations]
    else:
        numbers = range(1, config.reach + 1)
        kinds = [OTHERS, *(f"left {n}" for n in numbers), *(f"right {n}" for n in numbers)]
    norms = tower.compose.compose.flatten(1).norm(dim=1).tolist()
    matrices = [Composition(kind, norm) for kind, norm in zip(kinds, norms, strict=True)]
    return sorted(matrices, key=lambda composition: (-composition.norm, composition.kind))


@dataclass(frozen=True, slots=True)
class Magnitude:
    """A word, the mean of |s_t| over its occurrences, and their number."""

    word: str
    mean: float
    count: int


def magnitudes(sentences: Iterable[FragmentBag], least_count: int) -> list[Magnitude]:
    """Mean |s_t| of each word, largest first (Karpathy & Fei-Fei 2015, section 6.1 and table 4).

    A word's vector depends on its sentence, hence the mean. Words are fragments' labels in lower
    case, so relations count as pairs of words; fragments for whole sentences are left out.
    ValueError if no word comes least_count times.
    """
    lengths: dict[str, list[float]] = defaultdict(list)
    for bag in sentences:
        for label, length in zip(bag.labels, bag.vectors.norm(dim=1).tolist(), strict=True):
            if label != WHOLE_SENTENCE:
                lengths[label.lower()].append(length)
    frequent = [
        Magnitude(word, sum(norms) / len(norms), len(norms))
        for word, norms in lengths.items()
        if len(norms) >= least_count
    ]
    if not frequent:
        raise ValueError(
            f"no word has {least_count} fragments of its own; take a matcher of bags and more text"
        )
    return sorted(frequent, key=lambda magnitude: (-magnitude.mean, magnitude.word))
