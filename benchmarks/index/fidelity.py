"""Likeness of grown bags to real ones: scores, candidates, and neighbours.

    python -m benchmarks.index.speed fidelity

The real bags outside the held-out split are cut in two. New ones are grown from the first half and
compared with the unseen second half. The first half is compared as well: its difference is chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.index.bags import Bags, Floats, Real, Side
from benchmarks.index.growth import BLOCK, PhotoGrower, SentenceGrower
from benchmarks.index.questions import summary
from benchmarks.index.truth import TOP, scores
from models.text.queries import Query

CANDIDATES = (50, 100, 200)
QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Likeness:
    """One set of bags as seen by queries: means over the queries.

    `candidates` is the share of the true TOP among so many of the highest products of summaries,
    `neighbour` the mean cosine of a summary and the one nearest to it.
    """

    bags: int
    best: float
    tenth: float
    mean: float
    deviation: float
    quantiles: tuple[float, ...]
    candidates: tuple[float, ...]
    neighbour: float


def measure(real: Real, side: Side, queries: Sequence[Query]) -> dict[str, dict[str, object]]:
    """Both real halves, and as many bags grown from the first."""
    bags = real.of(side, "other")
    half = len(bags) // 2
    first, second = bags.part(0, half), bags.part(half, 2 * half)
    grower = PhotoGrower(first) if side == "images" else SentenceGrower(first, real.references)
    blocks = [grower.block(np.random.default_rng((1, n))) for n in range(-(-half // BLOCK))]
    lots = {
        "real": second,
        "real, the generator's": first,
        "grown": Bags.join(blocks).part(0, half),
    }
    return {name: asdict(likeness(lot, queries, side)) for name, lot in lots.items()}


def likeness(bags: Bags, queries: Sequence[Query], side: Side) -> Likeness:
    """The answers of one set of bags to queries of one part."""
    values = scores(bags, queries, side)  # (B, Q)
    order = np.sort(values, axis=0)[::-1]
    return Likeness(
        bags=len(bags),
        best=float(order[0].mean()),
        tenth=float(order[TOP - 1].mean()),
        mean=float(values.mean()),
        deviation=float(values.std(0).mean()),
        quantiles=tuple(float(np.quantile(values, at, axis=0).mean()) for at in QUANTILES),
        candidates=candidates(bags, queries, side, values),
        neighbour=neighbour(bags.summaries(side)),
    )


def candidates(
    bags: Bags, queries: Sequence[Query], side: Side, values: Floats
) -> tuple[float, ...]:
    """The best TOP's mean share among the best n by summary, for CANDIDATES."""
    products = bags.summaries(side) @ np.stack([summary(query, side) for query in queries]).T
    ranks = np.argsort(np.argsort(-products, axis=0), axis=0)  # (B, Q)
    winners = np.argsort(-values, axis=0)[:TOP]
    places = np.take_along_axis(ranks, winners, 0)  # (TOP, Q)
    return tuple(float((places < count).mean()) for count in CANDIDATES)


def neighbour(vectors: Floats, sample: int = 500) -> float:
    """The mean cosine of vectors and their nearest ones, without constant numbers."""
    free = vectors[:, vectors.std(0) > 0]
    units = free / np.linalg.norm(free, axis=1, keepdims=True)
    chosen = np.linspace(0, len(units) - 1, min(sample, len(units))).astype(int)
    cosines = units[chosen] @ units.T
    cosines[np.arange(len(chosen)), chosen] = -1
    return float(cosines.max(1).mean())
