"""Do links tell the truth? What a score loses without the region that most of it is linked to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.alignment import links
from models.scoring import SCORES
from models.types import FragmentBag, Link, PaddedBags


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """What pairs lose without the region with the most links of each, on average.

    linked: the sum of that region's links. lost: how far the score falls when the photo is scored
    again without the region. share: lost / linked in percent. gap: the largest difference, of any
    pair, between the new score and the one that the links foretell; rounding, where links are true.

    A link says how much of a score rests on a region, not that no other could carry it. With
    sum_of_max a fragment turns to its second-best region, so lost equals linked where that gives
    nothing, is less where it says nearly the same, and more where it disagrees.
    """

    linked: float
    lost: float
    share: float
    gap: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Masked:
    """A pair's score before and after one region was taken away, its links, and the forecast."""

    before: float
    after: float
    linked: float
    foretold: float


def faithfulness(
    pairs: Iterable[tuple[FragmentBag, FragmentBag]], score: str = "sum_of_max"
) -> Faithfulness | None:
    """Sum up pairs of a photo's and a sentence's bag; None if none has a region to lose.

    Pairs without links, and photos of one region, are left out. LookupError for a score that
    models.scoring lacks.
    """
    seen = [
        masked(image, sentence, given, score)
        for image, sentence in pairs
        if len(image) > 1 and (given := links(image, sentence, score))
    ]
    if not seen:
        return None
    linked = sum(one.linked for one in seen) / len(seen)
    lost = sum(one.before - one.after for one in seen) / len(seen)
    gap = max(abs(one.after - one.foretold) for one in seen)
    return Faithfulness(linked, lost, 100 * lost / linked, gap, len(seen))


def masked(image: FragmentBag, sentence: FragmentBag, given: Sequence[Link], score: str) -> Masked:
    """Take the region with the largest sum of links out of a pair."""
    shares: dict[int, float] = defaultdict(float)
    for link in given:
        shares[link.region] += link.similarity
    region = max(shares, key=lambda one: shares[one])
    others = torch.cat([image.vectors[:region], image.vectors[region + 1 :]])  # (R - 1, D)
    return Masked(
        before=exact(image.vectors, sentence.vectors, score),
        after=exact(others, sentence.vectors, score),
        linked=shares[region],
        foretold=foretold(others, sentence.vectors, given, region, score),
    )


def foretold(
    others: Tensor, fragments: Tensor, given: Sequence[Link], region: int, score: str
) -> float:
    """The score without a region, by the links alone; others (R - 1, D), fragments (T, D).

    sum_of_max: S' = S − Σ links + Σ second-best, over the fragments that are linked to the region.
    mean_of_positive: S' = (S − Σ links) · R / (R − 1), as the mean is over one region less.
    """
    kept = sum(link.similarity for link in given if link.region != region)
    if score == "mean_of_positive":
        return kept * (len(others) + 1) / len(others)
    turned = [link.fragment for link in given if link.region == region]
    return kept + float((fragments[turned] @ others.T).amax(dim=1).sum())


def exact(regions: Tensor, fragments: Tensor, score: str) -> float:
    """A pair's score, from its regions (R, D) and fragments (T, D)."""
    return SCORES[score](PaddedBags.of([regions]), PaddedBags.of([fragments])).item()
