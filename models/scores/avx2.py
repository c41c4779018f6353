"""Products of bytes, and of numbers in half precision, by AVX2.

A stored vector is read in place and multiplied with a few vectors of a query, whose sums stay in
registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from models.machine_code import compile_loop
from models.scores.instructions import AHEAD, CHUNK, INTEGER, SPAN, Loop, fetch, shuffle, store
from models.scores.kernels import Floats

# Digest of instructions.py: numba's cache of machine code notices changes of this file alone.
GENERATOR = "14e6ad0f"

Bytes = NDArray[np.int8]
Halves = NDArray[np.int16]  # numbers in half precision, whose type numba lacks
Numbers = NDArray[np.int64]

WIDTHS = (2, 4, 8, 12)  # vectors of a query that are multiplied together
WIDEST = WIDTHS[-1]


class Shorts:
    """A query's vectors (T, D) in 8 bits, widened to 16, as `multiply` reads them.

    Vectors are padded to one of WIDTHS.
    """

    def __init__(self, vectors: Bytes) -> None:
        """Pack the query's vectors."""
        T, D = vectors.shape
        rest = T % WIDEST
        self._width = T - rest + (min(width for width in WIDTHS if width >= rest) if rest else 0)
        chunks = -(-D // CHUNK)
        padded = np.zeros((self._width, chunks, CHUNK), np.int16)
        flat = padded.reshape(self._width, -1)
        flat[:T, : D - D % CHUNK] = vectors[:, : D - D % CHUNK]
        if D % CHUNK:  # the last chunk overlaps the one before
            padded[:T, -1, CHUNK - D % CHUNK :] = vectors[:, D - D % CHUNK :]
        groups = [padded[at : at + WIDEST] for at in range(0, self._width, WIDEST)]
        self._shorts = np.concatenate([group.transpose(1, 0, 2).ravel() for group in groups])

    def multiply(self, stored: Bytes, numbers: Numbers, count: int) -> NDArray[np.int32]:
        """Products with `count` stored vectors, of some numbers or all of them."""
        out = np.empty((count, self._width), np.int32)
        inside = multiply(stored, numbers, self._shorts, out)
        assert inside
        return out


@compile_loop
def multiply(
    stored: Bytes, numbers: Numbers, shorts: NDArray[np.int16], out: NDArray[np.int32]
) -> bool:
    """Write products of some numbered vectors, or the first ones, into out.

    False if there is no vector of one of the numbers.
    """
    D, columns = stored.shape[1], out.shape[1]
    chunks = -(-D // CHUNK)
    for n in range(len(out)):
        number = numbers[n] if len(numbers) else n
        if number < 0 or number >= len(stored):
            return False
        row = stored.ctypes.data + D * number
        if len(numbers):
            fetch(stored.ctypes.data + D * numbers[min(n + AHEAD, len(numbers) - 1)], D)
        for first in range(0, columns, WIDEST):
            arguments = (
                row,
                shorts.ctypes.data + 2 * CHUNK * chunks * first,
                chunks,
                D - CHUNK,
                out.ctypes.data + 4 * (columns * n + first),
            )
            many = min(WIDEST, columns - first)
            if many == 2:
                by_2(*arguments)
            elif many == 4:
                by_4(*arguments)
            elif many == 8:
                by_8(*arguments)
            else:
                by_12(*arguments)
    return True


@compile_loop
def multiply_halves(stored: Halves, numbers: Numbers, query: Floats, out: Floats) -> bool:
    """Write products of some numbered vectors, or the first ones, into out.

    The query's vectors are as `spread` gives them. False if there is no vector of a number.
    """
    D, T = stored.shape[1], out.shape[1]
    spans = -(-D // SPAN)
    for n in range(len(out)):
        number = numbers[n] if len(numbers) else n
        if number < 0 or number >= len(stored):
            return False
        row = stored.ctypes.data + 2 * D * number
        if len(numbers):
            fetch(stored.ctypes.data + 2 * D * numbers[min(n + AHEAD, len(numbers) - 1)], 2 * D)
        for t in range(T):
            vector = query.ctypes.data + 4 * SPAN * spans * t
            out[n, t] = multiply_half(row, vector, spans, 2 * (D - SPAN))
    return True


def spread(vectors: Floats) -> Floats:
    """Pad a query's vectors (T, D) to whole spans; the last one overlaps."""
    T, D = vectors.shape
    whole = D - D % SPAN
    padded = np.zeros((T, -(-D // SPAN) * SPAN), np.float32)
    padded[:, :whole] = vectors[:, :whole]
    padded[:, padded.shape[1] - D % SPAN :] = vectors[:, whole:]
    return padded


def tile(columns: int) -> Any:
    """A compiled function to multiply a stored vector with `columns` of a query.

    Its arguments are the addresses of the stored vector and of the query's shorts, the number of
    chunks, how many bytes behind the stored vector's address the last chunk begins, and the address
    of the products.
    """

    @intrinsic
    def multiply_tile(_typing, _row, _shorts, _chunks, _last, _out):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            row, shorts, chunks, last, out = arguments
            sums = Loop(builder, row, shorts, chunks, last).add_shorts(columns)
            store(builder, sums, out)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 5), generate

    return multiply_tile


@intrinsic
def multiply_half(_typing, _row, _query, _spans, _last):  # type: ignore[no-untyped-def]
    """A product of vectors in half and in single precision.

    Its arguments are their addresses, the number of spans, and how many bytes behind the stored
    vector's address the last span begins.
    """

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        sums = Loop(builder, *arguments).add_halves()
        while len(sums) > 1:
            sums = [builder.fadd(*sums[at : at + 2]) for at in range(0, len(sums), 2)]
        total = sums[0]
        for half in (4, 2, 1):
            low, high = range(half), range(half, 2 * half)
            total = builder.fadd(*(shuffle(builder, total, total, part) for part in (low, high)))
        return builder.extract_element(total, INTEGER(0))

    return types.float32(*[types.intp] * 4), generate


by_2, by_4, by_8, by_12 = (tile(columns) for columns in WIDTHS)
