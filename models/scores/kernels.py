"""Kernels: compiled loops for scores of stored rows from products of fragments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.machine_code import compile_loop

Floats = NDArray[np.float32]

SMOOTHING = 5  # n of Karpathy et al. 2014, eq. 6: without it, short sentences have an advantage


@compile_loop
def maxima_over_rows(
    dots: NDArray[Any],
    first: int,
    end: int,
    best: NDArray[Any],
    scale: np.float32,
    query_scales: Floats,
    row_shifts: Floats,
    least: np.float32,
) -> np.float32:
    """Σ_t max_f of one row's fragments dots[first:end], (F, ≥ T). Writes to best (≥ T,).

    A slice of `dots` for each row would take as long as its maxima.
    """
    for t in range(len(best)):
        best[t] = dots[first, t]
    fours = end - (end - first) % 4
    for f in range(first, fours, 4):  # so that `best` is read and written a quarter as often
        for t in range(len(best)):
            low, high = max(dots[f, t], dots[f + 1, t]), max(dots[f + 2, t], dots[f + 3, t])
            best[t] = max(best[t], max(low, high))
    for f in range(fours, end):
        for t in range(len(best)):
            best[t] = max(best[t], dots[f, t])
    total = np.float32(0)
    for t in range(len(query_scales)):
        total += max(scale * (best[t] * query_scales[t]) + row_shifts[t], least)
    return total


@compile_loop
def maxima_over_query(
    dots: NDArray[Any],
    first: int,
    end: int,
    scale: np.float32,
    query_scales: Floats,
    row_shifts: Floats,
    fragment_shifts: Floats,
    least: np.float32,
) -> np.float32:
    """Σ_f max_t of one row's fragments dots[first:end], with shifts (T,) and all rows'."""
    total = np.float32(0)
    for f in range(first, end):
        most = np.float32(-np.inf)
        for t in range(len(query_scales)):
            most = max(most, scale * dots[f, t] * query_scales[t] + row_shifts[t])
        total += max(most + scale * fragment_shifts[f], least)
    return total


@compile_loop
def sums_of_maxima(
    dots: NDArray[Any],
    offsets: NDArray[np.int64],
    scales: Floats,
    query_scales: Floats,
    row_shifts: Floats,
    fragment_shifts: Floats,
    rows_are_images: bool,
    least: np.float32,
    out: Floats,
) -> None:
    """Score.kernel of SumOfMax: Σ_t max_f, or Σ_f max_t for rows of sentences."""
    best = np.empty(dots.shape[1], dots.dtype)
    for b in range(len(out)):
        first, end, scale, shifts = offsets[b], offsets[b + 1], scales[b], row_shifts[b]
        if rows_are_images:
            out[b] = maxima_over_rows(dots, first, end, best, scale, query_scales, shifts, least)
        else:
            out[b] = maxima_over_query(
                dots, first, end, scale, query_scales, shifts, fragment_shifts, least
            )


@compile_loop
def means_of_positives(
    dots: NDArray[Any],
    offsets: NDArray[np.int64],
    scales: Floats,
    query_scales: Floats,
    row_shifts: Floats,
    fragment_shifts: Floats,
    rows_are_images: bool,
    least: np.float32,  # noqa: ARG001 - nothing counts less than 0 anyway
    out: Floats,
) -> None:
    """Score.kernel of MeanOfPositive: Σ_f Σ_t max(0, ·) / (|image| (|sentence| + n))."""
    T = len(query_scales)
    for b in range(len(out)):
        first, last = offsets[b], offsets[b + 1]
        total = np.float32(0)
        for f in range(first, last):
            for t in range(T):
                product = dots[f, t] * query_scales[t] + fragment_shifts[f]
                total += max(scales[b] * product + row_shifts[b, t], np.float32(0))
        F = last - first
        image, sentence = (F, T) if rows_are_images else (T, F)
        out[b] = total / np.float32(image * (sentence + SMOOTHING))


@compile_loop
def sums_above(
    products: NDArray[Any], real: NDArray[np.bool_], shift: Any, out: NDArray[Any]
) -> None:
    """Σ_r max(0, p + shift) of products (N, K, R) over real regions (K, R), into out (N, K)."""
    N, K, R = products.shape
    for n in range(N):
        for k in range(K):
            total = 0 * shift
            for r in range(R):
                total += max(products[n, k, r] + shift, 0 * shift) * real[k, r]
            out[n, k] = total


@compile_loop
def gradients_above(
    products: NDArray[Any],
    real: NDArray[np.bool_],
    shift: Any,
    outer: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write the gradients of sums_above by the products into out (N, K, R)."""
    N, K, R = products.shape
    for n in range(N):
        for k in range(K):
            gradient = outer[n, k]
            for r in range(R):
                out[n, k, r] = gradient * (products[n, k, r] + shift > 0) * real[k, r]


@compile_loop
def maxima_over_regions(
    products: NDArray[Any],
    real: NDArray[np.bool_],
    out: NDArray[Any],
    places: NDArray[np.int64],
) -> None:
    """Write the largest of products (N, K, R) over real regions, and its place."""
    N, K, R = products.shape
    for n in range(N):
        for k in range(K):
            place = -1
            for r in range(R):
                if real[k, r] and (place < 0 or products[n, k, r] > products[n, k, place]):
                    place = r
            out[n, k], places[n, k] = products[n, k, place], place


@compile_loop
def gradients_of_maxima(places: NDArray[np.int64], outer: NDArray[Any], out: NDArray[Any]) -> None:
    """Into out (N, K, R) of zeros: the gradients of maxima_over_regions, from its own (N, K)."""
    N, K = places.shape
    for n in range(N):
        for k in range(K):
            out[n, k, places[n, k]] = outer[n, k]


@compile_loop
def nonzeros(values: NDArray[Any]) -> int:
    """The number of values (N, M) other than 0."""
    count = 0
    for value in values.ravel():
        count += value != 0
    return count


@compile_loop
def gradients_of_products(
    outer: NDArray[Any],
    rows: NDArray[Any],
    columns: NDArray[Any],
    of_rows: NDArray[Any],
    of_columns: NDArray[Any],
) -> None:
    """Write the gradients of rows @ columns.T into of_rows (N, D) and of_columns (M, D).

    For gradients `outer` (N, M) of the products that are mostly 0.
    """
    N, M = outer.shape
    D = rows.shape[1]
    for n in range(N):
        for m in range(M):
            gradient = outer[n, m]
            if gradient != 0:
                for d in range(D):
                    of_rows[n, d] += gradient * columns[m, d]
                    of_columns[m, d] += gradient * rows[n, d]
