"""Products of bytes by AVX-512's vpdpbusd.

Each of a register's 16 lanes has the sum of another stored vector: nothing is added across, and
stored vectors are read in place, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from models.machine_code import compile_loop
from models.scores.instructions import (
    AHEAD,
    BYTE,
    CHUNK,
    INTEGER,
    LONG,
    fetch,
    load,
    pointer,
    shuffle,
)

# Digest of instructions.py: numba's cache of machine code notices changes of this file alone.
GENERATOR = "14e6ad0f"

Bytes = NDArray[np.int8]
Numbers = NDArray[np.int64]

LANES = 16  # stored vectors that are multiplied at a time: 32-bit sums of a register
QUAD = 4  # numbers that one instruction multiplies and adds up, in each lane
WIDEST = 16  # vectors of the query whose sums stay in registers
INSTRUCTION = "llvm.x86.avx512.vpdpbusd.512"

SUMS = ir.VectorType(INTEGER, LANES)
QUADS = ir.VectorType(BYTE, QUAD * LANES)  # the same register


class Quads:
    """A query's vectors (T, D) in 8 bits, as `multiply` reads them."""

    def __init__(self, vectors: Bytes) -> None:
        """Pack the query's vectors."""
        T, D = vectors.shape
        self._width = QUAD * -(-T // QUAD)
        self._starts, places = find_quads(T, D)
        self._quads = np.append(vectors, np.int8(0))[places].view(np.int32)
        # The instruction wants stored numbers without signs: 128 more, and so 128 Σ_d q_d too much.
        self._shifts = np.zeros(self._width, np.int32)
        np.multiply(vectors.sum(axis=1, dtype=np.int32), -128, out=self._shifts[:T])

    def multiply(self, stored: Bytes, numbers: Numbers, count: int) -> NDArray[np.int32]:
        """Products with `count` stored vectors, of some numbers or all of them."""
        out = np.empty((LANES * -(-count // LANES), self._width), np.int32)
        inside = multiply(stored, numbers, count, self._starts, self._quads, self._shifts, out)
        assert inside
        return out[:count]


@lru_cache(maxsize=64)
def find_quads(T: int, D: int) -> tuple[Numbers, Numbers]:
    """The starts of chunks, and places of numbers in vectors (T, D).

    A zero lies behind the vectors.

    Numbers come in chunks and quads, in the order `multiply` reads them: of WIDEST vectors at a
    time, or of those that are left, the first quad of each, then the second. A number that two
    chunks have is a zero in the second, and so are those of vectors that pad a quad.
    """
    starts = np.minimum(np.arange(0, D, CHUNK), D - CHUNK)  # the last chunk overlaps
    numbers = np.add.outer(starts, np.arange(CHUNK))  # (C, CHUNK)
    zero = T * D
    places = np.full((QUAD * -(-T // QUAD), *numbers.shape), zero)
    places[:T] = D * np.arange(T)[:, None, None] + numbers
    places[:, -1, : CHUNK * len(starts) - D] = zero
    whole = places.reshape(len(places), -1, QUAD)  # (T, CHUNK / QUAD · C, QUAD)
    groups = [whole[at : at + WIDEST].swapaxes(0, 1).ravel() for at in range(0, len(whole), WIDEST)]
    return starts, np.concatenate(groups)


def tile(columns: int) -> Any:
    """A compiled function to multiply 16 stored vectors with `columns` of a query.

    Its arguments are the addresses of the stored vectors, of how many bytes behind it each of the
    16 begins, of the chunks' starts, their number, the addresses of the query's quads and shifts,
    of where the products (16, columns) go, and how many bytes their rows are apart.
    """

    @intrinsic
    def multiply_tile(  # type: ignore[no-untyped-def]  # numba counts them
        _typing, _stored, _rows, _starts, _count, _quads, _shifts, _out, _stride
    ):
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            Tile(builder, *arguments).write(columns)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 8), generate

    return multiply_tile


class Tile:
    """Writes the instructions of `tile`."""

    def __init__(self, builder: Any, *arguments: Any) -> None:
        self.builder = builder
        self.stored, self.rows, self.starts, self.count = arguments[:4]
        self.quads, self.shifts, self.out, self.stride = arguments[4:]
        kind = ir.FunctionType(SUMS, [SUMS, QUADS, QUADS])
        self.instruction = cgutils.get_or_insert_function(builder.module, kind, INSTRUCTION)

    def write(self, columns: int) -> None:
        """Write a loop over chunks, and a store of its sums."""
        builder = self.builder
        vectors = [
            builder.add(self.stored, self.read(LONG, self.rows, 8 * lane)) for lane in range(LANES)
        ]
        first = [self.spread(self.read(INTEGER, self.shifts, 4 * t)) for t in range(columns)]
        before = builder.block
        loop = builder.append_basic_block("chunk")
        builder.branch(loop)
        builder.position_at_end(loop)
        chunk, *sums = (builder.phi(kind) for kind in (LONG, *[SUMS] * columns))
        added = self.add_products(sums, self.load_quads(vectors, chunk), chunk)
        following = builder.add(chunk, LONG(1))
        for phi, start, end in zip(
            (chunk, *sums), (LONG(0), *first), (following, *added), strict=True
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(end, builder.block)
        after = builder.append_basic_block("store")
        builder.cbranch(builder.icmp_signed("<", following, self.count), loop, after)
        builder.position_at_end(after)
        self.store(added)

    def load_quads(self, vectors: Sequence[Any], chunk: Any) -> list[Any]:
        """A chunk of 16 stored vectors as four registers, with a quad a lane."""
        start = self.read(LONG, self.starts, self.builder.shl(chunk, LONG(3)))
        kind = ir.VectorType(BYTE, CHUNK)
        chunks = [load(self.builder, kind, vector, start) for vector in vectors]
        registers = []
        for number in range(4):  # rows 4 m + number of m = 0, 1, 2, 3, one behind another
            low, high = (
                shuffle(self.builder, chunks[row], chunks[row + 4], range(2 * CHUNK))
                for row in (number, number + 8)
            )
            signed = shuffle(self.builder, low, high, range(4 * CHUNK))
            unsigned = self.builder.xor(signed, ir.Constant(QUADS, [-128] * (QUAD * LANES)))
            registers.append(self.builder.bitcast(unsigned, SUMS))
        return self.transpose(registers)

    def add_products(self, sums: Sequence[Any], registers: Sequence[Any], chunk: Any) -> list[Any]:
        """The sums with a chunk's products."""
        builder, added = self.builder, list(sums)
        start = builder.mul(chunk, LONG(CHUNK * len(added)))
        for number, register in enumerate(registers):
            stored = builder.bitcast(register, QUADS)
            for t, before in enumerate(added):
                place = builder.add(start, LONG(QUAD * (number * len(added) + t)))
                quad = builder.bitcast(self.spread(self.read(INTEGER, self.quads, place)), QUADS)
                added[t] = builder.call(self.instruction, [before, stored, quad])
        return added

    def store(self, sums: Sequence[Any]) -> None:
        """Write sums as rows; each of them is a column."""
        kind = ir.VectorType(INTEGER, QUAD)
        for start in range(0, len(sums), QUAD):
            for number, four in enumerate(self.transpose(sums[start : start + QUAD])):
                for m in range(4):
                    part = shuffle(self.builder, four, four, range(QUAD * m, QUAD * m + QUAD))
                    row = self.builder.mul(self.stride, LONG(4 * m + number))
                    place = self.builder.add(row, LONG(4 * start))
                    self.builder.store(part, pointer(self.builder, kind, self.out, place), align=4)

    def transpose(self, four: Sequence[Any]) -> list[Any]:
        """Transpose four registers of 4 × 4 numbers each."""
        pairs = [
            shuffle(self.builder, left, right, [4 * m + n for m in range(4) for n in pattern])
            for left, right in (four[:2], four[2:])
            for pattern in ((0, LANES, 1, LANES + 1), (2, LANES + 2, 3, LANES + 3))
        ]
        return [
            shuffle(self.builder, left, right, [4 * m + n for m in range(4) for n in pattern])
            for left, right in ((pairs[0], pairs[2]), (pairs[1], pairs[3]))
            for pattern in ((0, 1, LANES, LANES + 1), (2, 3, LANES + 2, LANES + 3))
        ]

    def read(self, kind: Any, address: Any, offset: Any) -> Any:
        """A number some bytes behind an address, aligned."""
        return load(self.builder, kind, address, offset, align=None)

    def spread(self, number: Any) -> Any:
        """A register with one number in all lanes."""
        undefined = ir.Constant(SUMS, ir.Undefined)
        single = self.builder.insert_element(undefined, number, INTEGER(0))
        return shuffle(self.builder, single, single, [0] * LANES)


by_4, by_8, by_12, by_16 = (tile(columns) for columns in (4, 8, 12, 16))


@compile_loop
def place_group(stored: Bytes, numbers: Numbers, group: int, count: int, rows: Numbers) -> bool:
    """Write where 16 stored vectors begin, and load the next ones.

    False if there is no vector of one of the numbers.
    """
    D = stored.shape[1]
    for lane in range(LANES):
        number = min(group + lane, count - 1)
        if len(numbers):
            following = numbers[min(number + AHEAD, count - 1)]
            fetch(stored.ctypes.data + D * following, D)
            number = numbers[number]
        if number < 0 or number >= len(stored):
            return False
        rows[lane] = D * number
    return True


@compile_loop
def multiply(
    stored: Bytes,
    numbers: Numbers,
    count: int,
    starts: Numbers,
    quads: NDArray[np.int32],
    shifts: NDArray[np.int32],
    out: NDArray[np.int32],
) -> bool:
    """Write products of some numbered vectors, or of all, into out (≥ count, columns).

    Rows of `out` are whole groups of 16; those behind the last repeat it. False if there is no
    vector of one of the numbers.
    """
    columns = out.shape[1]
    rows = np.empty(LANES, np.int64)
    for group in range(0, count, LANES):
        if not place_group(stored, numbers, group, count, rows):
            return False
        for first in range(0, columns, WIDEST):
            many = min(WIDEST, columns - first)
            arguments = (
                stored.ctypes.data,
                rows.ctypes.data,
                starts.ctypes.data,
                len(starts),
                quads.ctypes.data + CHUNK * len(starts) * first,
                shifts.ctypes.data + 4 * first,
                out.ctypes.data + 4 * (columns * group + first),
                4 * columns,
            )
            if many == 4:
                by_4(*arguments)
            elif many == 8:
                by_8(*arguments)
            elif many == 12:
                by_12(*arguments)
            else:
                by_16(*arguments)
    return True
