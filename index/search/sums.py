"""Similarities of stored sentences to a text, by sums of their words in half precision.

A row's summary ĝ is the sum g of its fragments, perhaps times a positive number, rounded to half
precision. So qᵀ ĝ / |ĝ| is close to the cosine of models.scores.sentences, for a query q of length
one: |qᵀ ĝ / |ĝ| − qᵀ g / |g|| ≤ 2 |ĝ − g| / |g|.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.codes import single
from index.search.query import QueryPart
from index.segments import candidates
from index.segments.rows import LARGEST, Numbers, Rows
from models.scores.half_dots import HalfDots
from models.scores.kernels import Floats

BLOCK = 2**13  # rows that are measured at a time
HALF, LEAST_HALF = 2.0**-11, 2.0**-25  # rounding errors of half precision: a share, and the least
ROUNDING = 2.0**-23  # of a number in single precision, up and down
WORST = 2.0  # the largest difference of two cosines
ALIKE = (
    0.1  # deviation of lengths, as a share of their mean, up to which products rank like cosines
)


@dataclass(frozen=True, slots=True)
class RowLengths:
    """The lengths |ĝ| (B,) of rows' summaries, and the errors (B,) of cosines with these.

    alike: whether they differ so little that products rank rows like cosines.
    """

    lengths: Floats
    errors: Floats
    alike: bool

    @classmethod
    def of(cls, rows: Rows, width: int) -> RowLengths:
        """Measure the first `width` numbers of rows' summaries."""
        lengths, largest = np.zeros((2, len(rows)), np.float32)
        for start in range(0, len(rows), BLOCK):
            block = slice(start, start + BLOCK)
            sums = single(np.ascontiguousarray(rows.summaries[block, :width]))
            lengths[block] = np.sqrt(np.einsum("bd,bd->b", sums, sums))
            largest[block] = np.abs(sums).max(axis=1)
        sizes, least = rows.sizes, np.finfo(np.float32).tiny
        # A sum of T fragments in single precision, each of numbers that add up to `reach`.
        summing = ROUNDING * sizes**2 * (rows.reach + width * rows.scales)
        noise = HALF * lengths + LEAST_HALF * np.sqrt(width) + summing
        errors = np.minimum(2 * noise / np.maximum(lengths, least), WORST)
        errors[largest >= LARGEST] = WORST  # numbers beyond are cut off
        spread = float(lengths.std()) if len(rows) else 0.0
        return cls(
            np.maximum(lengths, least),
            (errors + 4 * ROUNDING * width).astype(np.float32),
            spread <= ALIKE * float(lengths.mean() if len(rows) else 0.0),
        )

    def cosines(self, products: Floats, numbers: Numbers) -> Floats:
        """Divide products of some rows' summaries by their lengths."""
        divided: Floats = products / self.lengths[numbers]
        return divided


Measure = Callable[[Rows], RowLengths]
Summaries = NDArray[np.float16]


class SumLengths:
    """Lengths of rows' summaries, measured once for each segment. Safe for many threads."""

    def __init__(self) -> None:
        self._measured: dict[tuple[int, int], tuple[weakref.ref[Summaries], RowLengths]] = {}

    def of(self, rows: Rows, width: int) -> RowLengths:
        """The lengths of rows, kept as long as their segment is used."""
        key = id(rows.summaries), width
        entry = self._measured.get(key)
        if entry is not None and entry[0]() is rows.summaries:
            return entry[1]
        gone = weakref.ref(rows.summaries, lambda _: self._measured.pop(key, None))
        measured = RowLengths.of(rows, width)
        self._measured[key] = gone, measured
        return measured


def estimate(
    terms: Sequence[QueryPart], rows: Rows, numbers: Numbers, measured: RowLengths
) -> tuple[Floats, Floats]:
    """Estimate the cosines (P, N) of some rows with a query's parts; also the largest errors."""
    dots = [HalfDots(term.vectors) for term in terms]
    products = (candidates.multiply_summaries(rows, numbers, part).products for part in dots)
    cosines = [measured.cosines(of_part, numbers) for of_part in products]
    errors = np.repeat(measured.errors[numbers][None], len(terms), axis=0)
    return np.stack(cosines), errors
