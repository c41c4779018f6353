"""Codes: vectors in 8 bits with a step each, and in halves, two of which are as good as single."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

from models.kernels import Floats

LOW = np.float32(2**11)  # by how much the second half is too large


def steps(vectors: Floats) -> Floats:
    """The step of each vector's codes, (T,), so that its largest number is 127."""
    most = np.maximum(np.abs(vectors).max(axis=1), np.float32(1e-20))
    scales: Floats = (most / np.float32(127)).astype(np.float32)
    return scales


def coded(vectors: Floats, scales: Floats) -> NDArray[np.int8]:
    """The nearest codes (T, D) of vectors for their steps."""
    codes: NDArray[np.int8] = np.rint(vectors / scales[:, None]).astype(np.int8)
    return codes


def halves(vectors: Floats) -> Any:
    """Vectors (T, D) in half precision and, times 2^11, what that leaves: (2T, D), packed."""
    high = vectors.astype(np.float16)
    low = ((vectors - high.astype(np.float32)) * LOW).astype(np.float16)
    return numkong.dots_pack(np.concatenate([high, low]))


def single(numbers: NDArray[np.float16] | Floats) -> Floats:
    """Numbers in half precision as single; NumPy converts them one by one, in ten times as long."""
    return np.asarray(numkong.astype(numbers, "float32"), np.float32)


@dataclass(frozen=True, slots=True)
class CodedRuns:
    """Runs of vectors as scale · code + noise, with one scale a run.

    Shapes: codes (N, D) int8, scales and reach (B,). Every number of the noise is at most scale /
    2; those of a vector's scale · code add up to no more than its run's reach, signs left out.
    """

    codes: NDArray[np.int8]
    scales: Floats
    reach: Floats


def coded_together(
    vectors: Floats, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> CodedRuns:
    """Codes of vectors (N, D) in runs that start at `starts` (B,) and have `sizes` (B,)."""
    largest = np.maximum.reduceat(np.abs(vectors).max(axis=1), starts)
    scales = (np.maximum(largest, np.float32(1e-20)) / np.float32(127)).astype(np.float32)
    codes = coded(vectors, np.repeat(scales, sizes))
    lengths = np.abs(codes).sum(axis=1, dtype=np.int64).astype(np.float32)
    return CodedRuns(codes, scales, scales * np.maximum.reduceat(lengths, starts))
