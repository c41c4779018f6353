"""Dot products of vectors in half and in single precision.

Stored vectors are read in place, in any order, where a processor has AVX2 and converts half
precision. Other processors' products come from numkong, of copies, with the query's vectors as two
halves each: as precise as single precision.
"""

from __future__ import annotations

from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

from models.machine_code import has
from models.scores.avx2 import multiply_halves, spread
from models.scores.instructions import SPAN
from models.scores.kernels import Floats

Halves = NDArray[np.float16]
Numbers = NDArray[np.int64]

LOW = np.float32(2**11)  # the factor of the second half
FEATURES = ("avx2", "f16c", "fma")


class HalfDots:
    """A query's vectors (T, D) in single precision, packed for many products."""

    def __init__(self, vectors: Floats) -> None:
        """Pack the query's vectors."""
        self._count, self._dimension = vectors.shape
        self._halves: Any = None
        if self._dimension >= SPAN and has(*FEATURES):
            self._vectors = spread(vectors)
            return
        most = np.abs(vectors).max(axis=1, initial=1e-20)
        self._scales = most.astype(np.float32)  # half precision has no large numbers
        self._halves = split_halves(vectors / self._scales[:, None])

    def __call__(self, stored: Halves, numbers: Numbers | None = None) -> Floats:
        """Products (N, T) with the stored vectors (M, D) of some numbers (N,), or with all.

        The stored vectors lie one after another.
        """
        assert stored.flags.c_contiguous
        assert stored.shape[1] == self._dimension
        if self._halves is not None:
            chosen = stored if numbers is None else stored.take(numbers, axis=0)
            products = np.asarray(numkong.dots_packed(chosen, self._halves))  # high, then low
            high, low = products[:, : self._count], products[:, self._count :]
            scaled: Floats = ((high + low / LOW) * self._scales).astype(np.float32)
            return scaled
        listed = np.empty(0, np.int64) if numbers is None else numbers
        out = np.empty((len(stored) if numbers is None else len(numbers), self._count), np.float32)
        inside = multiply_halves(stored.view(np.int16), listed, self._vectors, out)
        assert inside
        return out


def split_halves(vectors: Floats) -> Any:
    """Pack vectors (T, D) and their rounding errors in half precision.

    The errors times 2^11 are the second half of (2T, D).
    """
    high = vectors.astype(np.float16)
    low = ((vectors - high.astype(np.float32)) * LOW).astype(np.float16)
    return numkong.dots_pack(np.concatenate([high, low]))
