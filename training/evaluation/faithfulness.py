"""Faithfulness of links: a score's loss without its most linked region."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

import torch
from torch import Tensor

from models.scores.scoring import SCORES, score_named
from models.types import FragmentBag, Link, PaddedBags


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Mean losses of pairs without their most linked region.

    linked: the sum of that region's links. lost: how far the score falls when the photo is scored
    again without the region. share: lost / linked in percent. gap: the largest difference, of any
    pair, between the new score and the one that the links predict; rounding, where links are true.

    A link says how much of a score rests on a region, not that no other could carry it. With
    sum_of_max a fragment turns to its second-best region, so lost equals linked where that gives
    nothing, is less where it gives nearly the same, and more where it disagrees. What a region adds
    to the whole photo, and what is lost with its pixels, measures `training.evaluation.occlusion`.
    """

    linked: float
    lost: float
    share: float
    gap: float
    pairs: int


@dataclass(frozen=True, slots=True)
class MaskedPair:
    """A pair's score with and without one region, its links, and the prediction."""

    before: float
    after: float
    linked: float
    predicted: float


def faithfulness(
    pairs: Iterable[tuple[FragmentBag, FragmentBag]], score: str = "sum_of_max"
) -> Faithfulness | None:
    """Sum up pairs of bags; None without a region to lose.

    Pairs without links, and photos of one region, are left out. LookupError for a score that
    models.scores.scoring lacks.
    """
    masked_pairs = [
        mask_region(image, sentence, sentence_links, score)
        for image, sentence in pairs
        if len(image) > 1 and (sentence_links := score_named(score).links(image, sentence))
    ]
    if not masked_pairs:
        return None
    linked = mean(pair.linked for pair in masked_pairs)
    lost = mean(pair.before - pair.after for pair in masked_pairs)
    gap = max(abs(pair.after - pair.predicted) for pair in masked_pairs)
    return Faithfulness(linked, lost, 100 * lost / linked, gap, len(masked_pairs))


def mask_region(
    image: FragmentBag, sentence: FragmentBag, sentence_links: Sequence[Link], score: str
) -> MaskedPair:
    """Take the region with most links out of a pair."""
    shares: dict[int, float] = defaultdict(float)
    for link in sentence_links:
        shares[link.region] += link.similarity
    region = max(shares, key=lambda region: shares[region])
    remaining = torch.cat([image.vectors[:region], image.vectors[region + 1 :]])  # (R - 1, D)
    return MaskedPair(
        before=score_pair(image.vectors, sentence.vectors, score),
        after=score_pair(remaining, sentence.vectors, score),
        linked=shares[region],
        predicted=SCORES[score].without(remaining, sentence.vectors, sentence_links, region),
    )


def score_pair(regions: Tensor, fragments: Tensor, score: str) -> float:
    """A pair's score, from its regions (R, D) and fragments (T, D)."""
    return SCORES[score](PaddedBags.of([regions]), PaddedBags.of([fragments])).item()
