"""Dot products of vectors in 8 bits, by AVX-512, AVX2 or numkong.

A few vectors of a query are multiplied with many stored ones, which are read in place, in any
order. Other processors' products come from numkong, of copies. All ways give the same integers.
"""

from __future__ import annotations

from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

from models.machine_code import has
from models.scores import avx2, avx512
from models.scores.instructions import CHUNK

Bytes = NDArray[np.int8]
Numbers = NDArray[np.int64]

VNNI, AVX2 = ("avx512vnni",), ("avx2",)


class ByteDots:
    """A query's vectors (T, D) in 8 bits, packed for many products."""

    def __init__(self, vectors: Bytes) -> None:
        """Pack the query's vectors."""
        self._dimension = vectors.shape[1]
        if self._dimension >= CHUNK and has(*VNNI):
            self._packed: Packed = avx512.Quads(vectors)
        elif self._dimension >= CHUNK and has(*AVX2):
            self._packed = avx2.Shorts(vectors)
        else:
            self._packed = Copies(vectors)

    def __call__(self, stored: Bytes, numbers: Numbers | None = None) -> NDArray[np.int32]:
        """Products (N, ≥ T) with the stored vectors (M, D) of some numbers (N,), or with all.

        Columns from T on mean nothing. The stored vectors lie one after another.
        """
        assert stored.flags.c_contiguous
        assert stored.shape[1] == self._dimension
        listed = np.empty(0, np.int64) if numbers is None else numbers
        count = len(stored) if numbers is None else len(numbers)
        return self._packed.multiply(stored, listed, count)


class Copies:
    """A query's vectors, packed for numkong."""

    def __init__(self, vectors: Bytes) -> None:
        """Pack the query's vectors."""
        self._vectors: Any = numkong.dots_pack(vectors)

    def multiply(self, stored: Bytes, numbers: Numbers, count: int) -> NDArray[np.int32]:
        """Products with `count` stored vectors, of some numbers or all of them."""
        chosen = stored if len(numbers) == 0 < count else stored.take(numbers, axis=0)
        return np.asarray(numkong.dots_packed(chosen, self._vectors))


Packed = avx512.Quads | avx2.Shorts | Copies
