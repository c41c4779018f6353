"""Heads: principal components of rows' fragments, for bounds of scores.

A scan reads the extremes of a row's heads, a tenth of their numbers, then the heads of rows whose
score can be high, and all codes of the rows that are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.codes import encode_runs
from models.scores.kernels import Floats

WIDTH = 64  # components: as many as one instruction multiplies
LEAST = 2_048  # fewer rows are not worth the bytes of heads
SAMPLE = 20_000  # fragments from which the components are computed
HELD = 0.85  # least share of the variance: with less, bounds exclude too few rows
BLOCK = 2**12  # rows whose heads are computed at a time


@dataclass(frozen=True, slots=True)
class Heads:
    """Rows' fragments as v_i = base + P (scale · code_i + noise) + rest_i, P = directions.

    The base is as in index.segments.rows. Shapes: directions (D, M) with orthonormal columns, codes
    (N, M) int8, scales, reach and rest (B,). Every number of the noise is at most scale / 2, those
    of scale · code_i add up to at most `reach` without signs, and ‖rest_i‖₂ ≤ rest. Extremes
    (B, 2 M) int8 are those of a row's codes; scale times them adds up to `extreme_reach` at most.
    """

    directions: Floats
    codes: NDArray[np.int8]
    scales: Floats
    reach: Floats
    rest: Floats
    extreme_codes: NDArray[np.int8]
    extreme_reach: Floats

    @property
    def size(self) -> int:
        """Bytes."""
        return self.codes.nbytes + self.extreme_codes.nbytes

    @property
    def extremes(self) -> Extremes:
        """The extremes of rows."""
        return Extremes(
            self.directions, self.extreme_codes, self.scales, self.extreme_reach, self.rest
        )


@dataclass(frozen=True, slots=True)
class Extremes:
    """The extremes of rows' heads, one vector a row, otherwise as Heads: codes (B, 2 M).

    The highest code h of each component, then the lowest l. No fragment's product with a vector s
    is above that of these with [max(s, 0), min(s, 0)]: Σ_d max(h_d s_d, l_d s_d).
    """

    directions: Floats
    codes: NDArray[np.int8]
    scales: Floats
    reach: Floats
    rest: Floats


def split_signs(components: Floats) -> Floats:
    """Split a query's components (T, M) for extremes: the positive ones, then the negative."""
    return np.hstack([np.maximum(components, 0), np.minimum(components, 0)])


STORED = tuple(field.name for field in fields(Heads))
TYPES = {"codes": np.int8, "extreme_codes": np.int8}  # the others are in single precision
Allocate = Callable[[str, tuple[int, ...], Any], NDArray[Any]]


def build(
    codes: NDArray[np.int8], offsets: NDArray[np.int64], scales: Floats, allocate: Allocate
) -> Heads | None:
    """Build the heads of rows' codes; None where they would not help.

    Codes, offsets and scales are as in index.segments.rows. `allocate` makes the heads' arrays from
    (name, shape, dtype).
    """
    rows, dimension = len(scales), codes.shape[1]
    if rows < LEAST or dimension <= 2 * WIDTH:
        return None
    directions, share = components(_decode(codes, offsets, scales, _sample(offsets)))
    if share < HELD:
        return None
    shapes = shapes_of(rows, len(codes), dimension)
    arrays = {name: allocate(name, shapes[name], TYPES.get(name, np.float32)) for name in STORED}
    arrays["directions"][:] = directions
    for start in range(0, rows, BLOCK):  # for constant memory
        numbers = np.arange(start, min(start + BLOCK, rows))
        block = offsets[start : numbers[-1] + 2]
        vectors = _decode(codes, offsets, scales, numbers)
        heads = vectors @ directions
        places = block - block[0]
        coded = encode_runs(heads, places, heads[:0])
        arrays["codes"][block[0] : block[-1]] = coded.codes
        arrays["scales"][numbers], arrays["reach"][numbers] = coded.scales, coded.reach
        rests = np.linalg.norm(vectors - heads @ directions.T, axis=1)
        arrays["rest"][numbers] = np.maximum.reduceat(rests, places[:-1])
        extremes = [
            extreme.reduceat(coded.codes, places[:-1], axis=0)
            for extreme in (np.maximum, np.minimum)
        ]
        arrays["extreme_codes"][numbers] = np.hstack(extremes)
        sizes = np.abs(arrays["extreme_codes"][numbers], dtype=np.int16).sum(axis=1)
        arrays["extreme_reach"][numbers] = coded.scales * sizes
    return freeze(arrays, rows, len(codes), dimension)


def components(vectors: Floats) -> tuple[Floats, float]:
    """Compute the directions (D, M) of most energy, and its share.

    Of vectors (N, D).
    """
    energy = vectors.T.astype(np.float64) @ vectors
    eigenvalues, directions = np.linalg.eigh(energy)  # ascending
    first = np.ascontiguousarray(directions[:, ::-1][:, :WIDTH], np.float32)
    return first, float(eigenvalues[-WIDTH:].sum() / max(eigenvalues.sum(), 1e-30))


def freeze(arrays: dict[str, NDArray[Any]], rows: int, fragments: int, dimension: int) -> Heads:
    """Make heads of arrays, now read-only; ValueError for contradicting ones."""
    for name, array in arrays.items():
        array.flags.writeable = False
        if array.dtype != TYPES.get(name, np.float32):
            raise ValueError(f"the heads' {name} hold {array.dtype}")
    shapes = shapes_of(rows, fragments, dimension)
    if any(array.shape != shapes[name] for name, array in arrays.items()):
        raise ValueError("the heads do not belong to these rows")
    return Heads(**arrays)


def shapes_of(rows: int, fragments: int, dimension: int) -> dict[str, tuple[int, ...]]:
    """The shape of each array of heads."""
    return dict.fromkeys(STORED, (rows,)) | {
        "directions": (dimension, WIDTH),
        "codes": (fragments, WIDTH),
        "extreme_codes": (rows, 2 * WIDTH),
    }


def _sample(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose evenly spaced rows with about SAMPLE fragments in all."""
    rows = len(offsets) - 1
    return np.arange(0, rows, max(1, int(offsets[-1]) // SAMPLE))


def _decode(
    codes: NDArray[np.int8],
    offsets: NDArray[np.int64],
    scales: Floats,
    numbers: NDArray[np.int64],
) -> Floats:
    """Decode the fragments (N, D) of some rows, minus their base."""
    sizes = offsets[numbers + 1] - offsets[numbers]
    starts = np.repeat(offsets[numbers] - np.cumsum(sizes) + sizes, sizes)
    vectors: Floats = (
        codes[starts + np.arange(len(starts))] * np.repeat(scales[numbers], sizes)[:, None]
    )
    return vectors
