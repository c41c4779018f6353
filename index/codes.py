"""Codes of vectors in 8 bits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numkong
import numpy as np
from numpy.typing import NDArray

from models.machine_code import FINITE, compile_loop
from models.scores.kernels import Floats


def steps(vectors: Floats) -> Floats:
    """Compute the step of each vector's codes, (T,).

    The largest code of each is 127.
    """
    return steps_of(np.abs(vectors))


def steps_of(sizes: Floats) -> Floats:
    """Compute steps of vectors whose numbers have sizes (T, D)."""
    scales: Floats = np.maximum(sizes.max(axis=1), np.float32(1e-20)) / np.float32(127)
    return scales


def encode(vectors: Floats, scales: Floats) -> NDArray[np.int8]:
    """Return the nearest codes (T, D) of vectors for their steps."""
    codes: NDArray[np.int8] = np.rint(vectors / scales[:, None]).astype(np.int8)
    return codes


def single(numbers: NDArray[np.float16] | Floats) -> Floats:
    """Convert half precision to single, ten times as fast as NumPy."""
    return np.asarray(numkong.astype(numbers, "float32"), np.float32)


@dataclass(frozen=True, slots=True)
class CodedRuns:
    """Runs of vectors as scale · code + noise, with one scale a run.

    Shapes: codes (N, D) int8, scales and reach (B,). Every number of the noise is at most scale /
    2. The absolute numbers of a vector's scale · code add up to at most its run's reach.
    """

    codes: NDArray[np.int8]
    scales: Floats
    reach: Floats


def encode_runs(vectors: Floats, offsets: NDArray[np.int64], bases: Floats) -> CodedRuns:
    """Encode vectors (N, D) without base in runs offsets[b : b + 2].

    Bases are (B, D), or (0, D) where there are none.
    """
    runs = len(offsets) - 1
    codes, (scales, reach) = np.empty(vectors.shape, np.int8), np.empty((2, runs), np.float32)
    code_runs(vectors, offsets, bases, codes, scales, reach)
    return CodedRuns(codes, scales, reach)


@partial(compile_loop, flags=FINITE)
def code_runs(
    vectors: Floats,
    offsets: NDArray[np.int64],
    bases: Floats,
    codes: NDArray[np.int8],
    scales: Floats,
    reach: Floats,
) -> None:
    """Encode runs into given arrays.

    One pass, four times as fast as NumPy.
    """
    D, most_vectors = vectors.shape[1], 0
    for run in range(len(scales)):  # np.diff takes seconds to compile
        most_vectors = max(most_vectors, offsets[run + 1] - offsets[run])
    rest = np.empty((most_vectors, D), np.float32)
    for run in range(len(scales)):
        first, end = offsets[run], offsets[run + 1]
        most = np.float32(1e-20)
        for f in range(first, end):
            for d in range(D):
                left = vectors[f, d]
                if len(bases):
                    left -= bases[run, d]
                rest[f - first, d] = left
                most = max(most, abs(left))
        scale = np.float32(most / np.float32(127))
        longest = 0
        for f in range(first, end):
            length = 0
            for d in range(D):
                code = np.int8(np.rint(rest[f - first, d] / scale))
                codes[f, d] = code
                length += abs(int(code))
            longest = max(longest, length)
        scales[run], reach[run] = scale, scale * np.float32(longest)
