"""Exact scores of stored bags for a query."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import NDArray

from models.scoring import SMOOTHING

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
Codes = NDArray[np.uint16]

# Sums may be regrouped, which lets them use vector instructions; infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
SHARE = 500  # rows that keep one thread busy for about 2 ms


class Role(Enum):
    """Which side of a pair is the sentence: its fragments are the ones that are summed over."""

    QUERY_IS_SENTENCE = "query"
    ROWS_ARE_SENTENCES = "rows"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Machine code, kept on disk where a folder for it can be written. Releases the GIL."""
    try:
        return njit(function, nogil=True, fastmath=FAST, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # numba found no writable folder for its cache
        return njit(function, nogil=True, fastmath=FAST)  # type: ignore[no-any-return]


@compiled
def similarities(row: Floats, query: Floats, out: Floats) -> None:
    """v_f · q_t of a row (F, D) and a query (T, D) into out (≥ F, T), four at a time."""
    F, D = row.shape
    T = query.shape[0]
    whole = T - T % 4
    for f in range(F):
        for t in range(0, whole, 4):
            a = b = c = d = np.float32(0)
            for i in range(D):
                value = row[f, i]
                a += value * query[t, i]
                b += value * query[t + 1, i]
                c += value * query[t + 2, i]
                d += value * query[t + 3, i]
            out[f, t], out[f, t + 1], out[f, t + 2], out[f, t + 3] = a, b, c, d
        for t in range(whole, T):
            a = np.float32(0)
            for i in range(D):
                a += row[f, i] * query[t, i]
            out[f, t] = a


@compiled
def total_of_maxima(products: Floats, F: int, over_query: bool, least: np.float32) -> np.float32:
    """Σ_t max_f of products (≥ F, T), or Σ_f max_t where the rows are the sentences.

    (Karpathy & Fei-Fei 2015, eq. 8.) No maximum counts less than `least`.
    """
    T = products.shape[1]
    total = np.float32(0)
    if over_query:
        for t in range(T):
            best = products[0, t]
            for f in range(1, F):
                best = max(best, products[f, t])
            total += max(best, least)
    else:
        for f in range(F):
            best = products[f, 0]
            for t in range(1, T):
                best = max(best, products[f, t])
            total += max(best, least)
    return total


@compiled
def mean_of_positives(products: Floats, F: int, over_query: bool) -> np.float32:
    """Σ_f Σ_t max(0, products[f, t]) / (|image| (|sentence| + n)): Karpathy et al. 2014, eq. 6."""
    T = products.shape[1]
    total = np.float32(0)
    for f in range(F):
        for t in range(T):
            total += max(products[f, t], np.float32(0))
    image, sentence = (F, T) if over_query else (T, F)
    return total / np.float32(image * (sentence + SMOOTHING))


@compiled
def exact_scores(
    vectors: Floats,
    offsets: Numbers,
    rows: Numbers,
    query: Floats,
    over_query: bool,
    positive: bool,
    least: np.float32,
    out: Floats,
) -> None:
    """The score of each chosen row of vectors and a query (T, D): eq. 6 if positive, else eq. 8."""
    longest = np.max(offsets[rows + 1] - offsets[rows])
    products = np.empty((longest, query.shape[0]), np.float32)
    for i in range(len(rows)):
        row = vectors[offsets[rows[i]] : offsets[rows[i] + 1]]  # (F, D)
        similarities(row, query, products)
        if positive:
            out[i] = mean_of_positives(products, len(row), over_query)
        else:
            out[i] = total_of_maxima(products, len(row), over_query, least)


@compiled
def coded_scores(
    codes: Codes,
    offsets: Numbers,
    rows: Numbers,
    table: Floats,
    over_query: bool,
    positive: bool,
    least: np.float32,
    out: Floats,
) -> None:
    """The same with fragment f taken for centroid codes[f], whose products are table (C, T)."""
    longest = np.max(offsets[rows + 1] - offsets[rows])
    products = np.empty((longest, table.shape[1]), np.float32)
    for i in range(len(rows)):
        row = codes[offsets[rows[i]] : offsets[rows[i] + 1]]  # (F,)
        for f in range(len(row)):
            products[f] = table[row[f]]
        if positive:
            out[i] = mean_of_positives(products, len(row), over_query)
        else:
            out[i] = total_of_maxima(products, len(row), over_query, least)


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a query, vectors (T, D), and its weight in the score: below 0 if negated."""

    vectors: Floats
    weight: float

    @property
    def negated(self) -> bool:
        """Whether it counts only where a row has it."""
        return self.weight < 0


POSITIVE = {"sum_of_max": False, "mean_of_positive": True}  # the kernels of each score


class Rescorer:
    """Scores by the kernel that a collection names. Safe to call from several threads.

    Threads of our own share the rows out, because numba's may not be entered by two at a time.
    """

    def __init__(self, score: str, threads: int | None = None) -> None:
        if score not in POSITIVE:
            raise LookupError(f"no kernel for score {score!r}; there are: {', '.join(POSITIVE)}")
        self._positive = POSITIVE[score]
        self._threads = threads or get_num_threads()
        self._pool = ThreadPoolExecutor(self._threads, "rescorer")

    def exact(
        self,
        vectors: Floats,
        offsets: Numbers,
        rows: Numbers,
        query: Floats,
        role: Role,
        *,
        negated: bool = False,
    ) -> Floats:
        """Scores of the chosen rows of vectors (N, D), in their order, for a query (T, D).

        Row b is vectors[offsets[b] : offsets[b + 1]]. One row's score does not depend on others.
        Where the query is negated no fragment counts less than 0.
        """
        return self._shared(exact_scores, vectors, offsets, rows, query, role, negated)

    def coded(
        self,
        codes: Codes,
        offsets: Numbers,
        rows: Numbers,
        table: Floats,
        role: Role,
        *,
        negated: bool = False,
    ) -> Floats:
        """Estimates for the chosen rows of codes (N,), given each centroid's products (C, T)."""
        return self._shared(coded_scores, codes, offsets, rows, table, role, negated)

    def _shared(
        self,
        kernel: Callable[..., None],
        values: NDArray[Any],
        offsets: Numbers,
        rows: Numbers,
        query: Floats,
        role: Role,
        negated: bool,
    ) -> Floats:
        out = np.empty(len(rows), np.float32)
        least = np.float32(0) if negated else np.float32(-np.inf)
        options = role is Role.QUERY_IS_SENTENCE, self._positive, least
        shares = min(self._threads, 1 + len(rows) // SHARE)
        if shares == 1 and len(rows):
            kernel(values, offsets, rows, query, *options, out)
        elif shares > 1:
            parts = zip(np.array_split(rows, shares), np.array_split(out, shares), strict=True)
            work = [
                self._pool.submit(kernel, values, offsets, part, query, *options, result)
                for part, result in parts
            ]
            for done in work:
                done.result()
        return out
