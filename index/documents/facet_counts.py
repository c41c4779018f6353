"""Counts of a key's values, ranges of numbers, periods of dates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.conditions import Scalar
from index.distinct import find_distinct
from index.documents.calendar import Periods

ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)  # steps of ranges, times a power of ten
RANGES = 6  # at most, where a client names no bounds


@dataclass(frozen=True, slots=True)
class Range:
    """A count of documents with a number from `start` to below `end`; None is no bound."""

    start: float | None
    end: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of documents under a key, with their counts, most first.

    distinct: how many values there are. missing: how many documents have none. Numbers have a
    smallest, a largest, and ranges; dates have periods.
    """

    key: str
    values: tuple[tuple[Scalar, int], ...]
    distinct: int
    missing: int
    least: float | None = None
    most: float | None = None
    ranges: tuple[Range, ...] = ()
    periods: Periods | None = None


def round_bounds(least: float, most: float) -> list[float]:
    """Round numbers that part a range into a few of equal width.

    >>> round_bounds(3.0, 118.0)
    [20.0, 40.0, 60.0, 80.0, 100.0]
    """
    if not 0 < most - least < float("inf"):
        return []
    power = 10.0 ** np.floor(np.log10((most - least) / RANGES))
    step = next(power * factor for factor in ROUND if (most - least) / (power * factor) <= RANGES)
    first, last = int(np.floor(least / step)) + 1, int(np.ceil(most / step))
    bounds = [float(f"{number * step:.12g}") for number in range(first, last)]
    return [bound for bound in bounds if least < bound <= most]


def count_ranges(
    documents: NDArray[np.int64], numbers: NDArray[np.float64], bounds: list[float]
) -> tuple[Range, ...]:
    """Count the documents with a number in each range between bounds."""
    if not bounds:
        return ()
    width = len(bounds) + 1
    places = documents * width + np.searchsorted(np.array(bounds), numbers, side="right")
    if (np.diff(documents) == 0).any():
        places = find_distinct(places)  # a document counts once in a range
    counts = np.bincount(places % width, minlength=width).tolist()
    edges = [None, *bounds, None]
    return tuple(
        Range(start, end, count)
        for start, end, count in zip(edges[:-1], edges[1:], counts, strict=True)
    )
