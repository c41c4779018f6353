"""Occlusion: the loss of words without their region, against its claim.

A link of sum_of_max is the whole photo's part of a word plus the region's. If that is true, a word
loses the region's part without the region: without its vector in the bag, or without its pixels in
the photo.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from torch import Tensor

from models.registry import Matcher
from models.types import WHOLE_FRAME, Box, FragmentBag
from training.evaluation.embedding import embed, read_pixels
from training.runs.progress import Progress, silent

GREY = 127  # the middle of the range of a pixel's values


@dataclass(frozen=True, slots=True)
class RegionClaim:
    """A region of a photo and its linked words (fragments).

    linked: the sum of the links. added: the region's part of it, beyond the whole photo's. removed:
    the fall of the links without the region's vector in the bag.
    """

    box: Box
    words: tuple[int, ...]
    linked: float
    added: float
    removed: float


@dataclass(frozen=True, slots=True)
class Occlusion:
    """Linked regions, one a photo, and their links' fall.

    linked, added, removed: means of `RegionClaim`. greyed: the mean fall when the box's pixels are
    grey and the photo is embedded again. elsewhere: the same for a box of this size in the farthest
    corner, which is the cost of greying alone. Correlations are Pearson's, over regions, between
    `added` and the fall; None if all values are equal.
    """

    regions: int
    linked: float
    added: float
    removed: float
    removed_correlation: float | None
    greyed: float
    greyed_correlation: float | None
    elsewhere: float


@dataclass(frozen=True, slots=True)
class Pair:
    """A photo, its bag, and the bag of a sentence about it."""

    photo: Path
    image: FragmentBag
    sentence: FragmentBag


def occlusion(
    matcher: Matcher, pairs: Sequence[Pair], count: int, seed: int = 0, progress: Progress = silent
) -> Occlusion | None:
    """Remove one region of each of `count` photos, drawn by the seed.

    All photos take part if there are fewer. None without any claim: for another score than
    sum_of_max, and for photos without regions or without a fragment of the whole photo.
    """
    if matcher.score != "sum_of_max":
        return None
    random = Random(seed)  # noqa: S311 - a sample, not a secret
    candidates = [
        (pair, regions) for pair in pairs if (regions := find_claims(pair.image, pair.sentence))
    ]
    sample = random.sample(candidates, min(count, len(candidates)))
    if not sample:
        return None
    claimed = [(pair, random.choice(regions)) for pair, regions in sample]
    added = [claim.added for _, claim in claimed]
    removed = [claim.removed for _, claim in claimed]
    greyed = measure_falls(matcher, claimed, lambda claim: claim.box, progress)
    elsewhere = measure_falls(matcher, claimed, lambda claim: far_corner(claim.box), progress)
    return Occlusion(
        regions=len(claimed),
        linked=statistics.mean(claim.linked for _, claim in claimed),
        added=statistics.mean(added),
        removed=statistics.mean(removed),
        removed_correlation=correlation(added, removed),
        greyed=statistics.mean(greyed),
        greyed_correlation=correlation(added, greyed),
        elsewhere=statistics.mean(elsewhere),
    )


def find_claims(image: FragmentBag, sentence: FragmentBag) -> list[RegionClaim]:
    """Find the linked regions; none without the whole photo."""
    if WHOLE_FRAME not in image.places:
        return []
    similarity = sentence.vectors @ image.vectors.T  # (T, R)
    frame = image.places.index(WHOLE_FRAME)
    linked = similarity.argmax(dim=1)  # (T,)
    return [
        make_claim(image, similarity, (linked == region).nonzero()[:, 0], region, frame)
        for region in sorted(set(linked.tolist()) - {frame})
    ]


def make_claim(
    image: FragmentBag, similarity: Tensor, words: Tensor, region: int, frame: int
) -> RegionClaim:
    """Make the claim of one region to its words (W,) of similarity (T, R)."""
    word_similarity = similarity[words]  # (W, R)
    linked = word_similarity[:, region].sum()
    remaining = word_similarity.clone()
    remaining[:, region] = float("-inf")
    box = image.places[region]
    assert isinstance(box, Box)
    return RegionClaim(
        box=box,
        words=tuple(words.tolist()),
        linked=float(linked),
        added=float(linked - word_similarity[:, frame].sum()),
        removed=float(linked - remaining.amax(dim=1).sum()),
    )


def measure_falls(
    matcher: Matcher,
    claimed: Sequence[tuple[Pair, RegionClaim]],
    box_of: Callable[[RegionClaim], Box],
    progress: Progress,
) -> list[float]:
    """Measure the fall of each claim with its box grey."""
    bags = embed(
        lambda part: matcher.embed_images(
            [grey(read_pixels(pair.photo), box_of(claim)) for pair, claim in part]
        ),
        claimed,
        progress,
        "greyed photos",
    )
    return [
        claim.linked - score_best(bag, pair.sentence.vectors[list(claim.words)])
        for bag, (pair, claim) in zip(bags, claimed, strict=True)
    ]


def score_best(image: FragmentBag, words: Tensor) -> float:
    """Σ_t max_i v_iᵀ s_t of words (W, D)."""
    return float((words @ image.vectors.T).amax(dim=1).sum())


def grey(photo: Tensor, box: Box) -> Tensor:
    """Copy a photo, uint8 (3, H, W), with the pixels inside a box grey."""
    _, H, W = photo.shape
    covered = photo.clone()
    rows = slice(int(box.top * H), max(round(box.bottom * H), int(box.top * H) + 1))
    columns = slice(int(box.left * W), max(round(box.right * W), int(box.left * W) + 1))
    covered[:, rows, columns] = GREY
    return covered


def far_corner(box: Box) -> Box:
    """Return a box of the same size in the photo's farthest corner.

    >>> far_corner(Box(0.0, 0.5, 0.25, 1.0))
    Box(left=0.75, top=0.0, right=1.0, bottom=0.5)
    """
    width, height = box.right - box.left, box.bottom - box.top
    left = 0.0 if box.left + box.right > 1 else 1 - width
    top = 0.0 if box.top + box.bottom > 1 else 1 - height
    return Box(left, top, left + width, top + height)


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Compute Pearson's r, or None if undefined.

    It is not defined for fewer than two values, or equal ones.

    >>> correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]), correlation([1.0, 1.0], [2.0, 4.0])
    (1.0, None)
    """
    try:
        return statistics.correlation(first, second)
    except statistics.StatisticsError:
        return None
