"""A query, rows and what is written for them, as the kernels read them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.scores.kernels import SMOOTHING, Floats

PARTS = 16  # of a query that are scored together


@dataclass(frozen=True, slots=True)
class KernelPart:
    """A query's part; arrays and numbers as in index.search.rescorer.Coded."""

    codes: NDArray[np.int8]  # (T [+ 2], D)
    scales: Floats  # (T,)
    factors: Floats  # (3, T)
    base_vectors: Floats  # (0, 1 or T, D)
    together: bool
    least: float
    common_steps: tuple[float, float]
    rounded: int


class PartArguments(ctypes.Structure):
    """As the kernels' Part."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("first", "last", "base", "bases", "together")),
        *((name, ctypes.c_float) for name in ("least", "coarse_step", "fine_step", "rounded")),
        *((name, ctypes.c_float) for name in ("by_scale", "by_reach", "by_rounding")),
    ]


class QueryPointers(ctypes.Structure):
    """As the kernels' Query."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("codes", "scales", "factors", "bases")),
        ("vectors", ctypes.c_int),
        ("count", ctypes.c_int),
        ("parts", PartArguments * PARTS),
    ]


class Packed:
    """A query of up to PARTS parts in one array of bytes.

    Its vectors are padded to `size` numbers, and their count to a multiple of `step`.
    """

    def __init__(self, parts: Sequence[KernelPart], size: int, step: int) -> None:
        D, vectors = parts[0].codes.shape[1], sum(len(part.codes) for part in parts)
        self._vectors = vectors + -vectors % step
        bases = sum(len(part.base_vectors) for part in parts)
        sections: dict[str, tuple[tuple[int, ...], type]] = {
            "codes": ((self._vectors, size), np.int8),
            "scales": ((self._vectors,), np.float32),
            "factors": ((3, self._vectors), np.float32),
            "bases": ((bases, size), np.float32),
        }
        self._places: dict[str, int] = {}
        length = 0
        for name, (dimensions, kind) in sections.items():
            self._places[name] = length
            length += math.prod(dimensions) * np.dtype(kind).itemsize
        self.bytes = np.zeros(length, np.uint8)
        codes, scales, factors, base_vectors = (
            np.ndarray(dimensions, kind, self.bytes, self._places[name])
            for name, (dimensions, kind) in sections.items()
        )
        if not bases:
            del self._places["bases"]
        self._parts, self._count = (PartArguments * PARTS)(), len(parts)
        start = base = 0
        for number, part in enumerate(parts):
            T, count, last = len(part.scales), len(part.base_vectors), start + len(part.codes)
            first = last - T
            codes[first:last, :D] = part.codes[:T]
            codes[start:first, :D] = part.codes[T:]  # what vectors have in common
            scales[first:last] = part.scales
            factors[:, first:last] = part.factors
            base_vectors[base : base + count, :D] = part.base_vectors
            self._parts[number] = PartArguments(
                *(first, last, base, count, part.together),
                *(part.least, *part.common_steps, part.rounded),
                *part.factors.sum(axis=1).tolist(),
            )
            start, base = last, base + count

    def at(self, address: int) -> QueryPointers:
        """Where the kernels find what lies at an address."""
        places = {name: address + place for name, place in self._places.items()}
        return QueryPointers(**places, vectors=self._vectors, count=self._count, parts=self._parts)


class RowPointers(ctypes.Structure):
    """As the kernels' Rows."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("codes", "offsets", "scales", "reach")),
        *((name, ctypes.c_void_p) for name in ("bases", "summaries")),
        ("count", ctypes.c_int),
    ]


class OutPointers(ctypes.Structure):
    """As the kernels' Out."""

    _fields_ = [
        ("scores", ctypes.c_void_p),
        ("errors", ctypes.c_void_p),
        ("stride", ctypes.c_longlong),
        ("rounding", ctypes.c_float),
        ("smoothing", ctypes.c_float),
    ]

    @classmethod
    def of(cls, scores: int, errors: int, stride: int, rounding: float) -> OutPointers:
        """Addresses of scores and errors (P, stride)."""
        return cls(scores, errors, stride, rounding, SMOOTHING)
