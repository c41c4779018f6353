"""Regions of photos as hits: their scores, and the choice of a photo's best.

A region scores like a photo of it alone: with models.scores.scoring.SumOfMax v_iᵀ Σ_t s_t, which is
one product with the sum of a query's words. A photo's first fragment, the whole of it, is a hit
only where the photo has no other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.catalog.stored_bags import StoredBag
from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.segments.rows import Numbers, offsets_of
from models.scores.kernels import Floats
from models.scores.scoring import Score
from models.types import Box

OVERLAP = 0.5  # intersection over union from which boxes of a photo show the same


def join_terms(terms: Sequence[QueryPart], score: Score) -> list[QueryPart]:
    """Sum a query's parts into one vector, as far as lone regions score by products.

    Parts with a floor stay, and so do all of a score that is not linear.
    """
    linear = [term for term in terms if score.linear_alone and not term.floored]
    others = [term for term in terms if not score.linear_alone or term.floored]
    if not linear:
        return others
    sums = [term.weight * term.vectors.sum(axis=0, dtype=np.float64) for term in linear]
    return [QueryPart(np.sum(sums, axis=0)[None].astype(np.float32), 1.0), *others]


def regions_of(offsets: Numbers, rows: Numbers, whole_first: bool) -> tuple[Numbers, Numbers]:
    """List the regions of some rows by fragment, (N,), and each row's offsets in that list.

    With `whole_first` the first of several fragments is none.
    """
    sizes = offsets[rows + 1] - offsets[rows]
    counts = np.maximum(sizes - whole_first, 1)
    places = offsets_of(counts)
    shifts = np.repeat(offsets[rows] + (sizes > counts) - places[:-1], counts)
    return np.arange(len(shifts)) + shifts, places


def find_best(
    score: Score,
    bags: Sequence[StoredBag],
    vectors: Floats,
    offsets: Numbers,
    terms: Sequence[QueryPart],
    per_photo: int,
) -> list[list[tuple[int, float]]]:
    """Find the best regions of each bag: their numbers in it, and exact scores, best first.

    The bags' fragments are offsets[b : b + 2] of vectors (N, D).
    """
    joined, alone = join_terms(terms, score), np.arange(len(vectors) + 1)
    role = SentenceRole.QUERY_IS_SENTENCE
    parts = np.stack([query_parts.exact_rows(score, vectors, alone, term, role) for term in joined])
    totals = query_parts.totals(parts, joined)
    fragments, places = regions_of(offsets, np.arange(len(bags)), score.whole_first)
    best = []
    for bag, start, first, end in zip(bags, offsets, places[:-1], places[1:], strict=False):
        chosen = choose(bag, fragments[first:end] - start, totals[fragments[first:end]], per_photo)
        best.append([(number, float(totals[start + number])) for number in chosen])
    return best


def choose(bag: StoredBag, numbers: Numbers, scores: Floats, count: int) -> list[int]:
    """Choose a photo's best regions, none of which shows the same as a better one."""
    if count == 1:
        return [int(numbers[scores.argmax()])]
    chosen: list[int] = []
    boxes = bag.bag.places
    for number in numbers[np.argsort(-scores, kind="stable")].tolist():
        if len(chosen) == count:
            break
        box = boxes[number]
        assert isinstance(box, Box)
        if all(_differ(box, boxes[other]) for other in chosen):
            chosen.append(number)
    return chosen


def _differ(box: Box, other: object) -> bool:
    assert isinstance(other, Box)
    return box.iou(other) < OVERLAP
