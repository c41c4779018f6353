"""Products of bytes, and of numbers in half precision, by AVX2.

A stored vector is read in place and multiplied with a few vectors of a query, whose sums stay in
registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from models.scores.kernels import Floats, compile_loop

Bytes = NDArray[np.int8]
Halves = NDArray[np.int16]  # numbers in half precision, whose type numba lacks
Numbers = NDArray[np.int64]

CHUNK = 16  # bytes of a stored vector that are multiplied at a time
WIDTHS = (2, 4, 8, 12)  # vectors of a query that are multiplied together
WIDEST = WIDTHS[-1]
SPAN = 32  # numbers in half precision that are multiplied at a time
FLOATS = 8  # numbers in single precision in a register

LONG, INTEGER, SHORT, BYTE = (ir.IntType(bits) for bits in (64, 32, 16, 8))
SUMS = ir.VectorType(INTEGER, 8)
SHORTS = ir.VectorType(SHORT, CHUNK)
SINGLES = ir.VectorType(ir.FloatType(), FLOATS)
HALVES = ir.VectorType(ir.HalfType(), FLOATS)


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
    """Write products of some numbered vectors, or of the first ones, into out (N, columns).

    False if there is no vector of one of the numbers.
    """
    D, columns = stored.shape[1], out.shape[1]
    chunks = -(-D // CHUNK)
    for n in range(len(out)):
        number = numbers[n] if len(numbers) else n
        if number < 0 or number >= len(stored):
            return False
        row = stored.ctypes.data + D * number
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
    """Write products of some numbered vectors, or of the first ones, into out (N, T).

    The query's vectors are as `spread` gives them. False if there is no vector of a number.
    """
    D, T = stored.shape[1], out.shape[1]
    spans = -(-D // SPAN)
    for n in range(len(out)):
        number = numbers[n] if len(numbers) else n
        if number < 0 or number >= len(stored):
            return False
        row = stored.ctypes.data + 2 * D * number
        for t in range(T):
            vector = query.ctypes.data + 4 * SPAN * spans * t
            out[n, t] = multiply_half(row, vector, spans, 2 * (D - SPAN))
    return True


def spread(vectors: Floats) -> Floats:
    """Pad a query's vectors (T, D) to whole spans; the last one overlaps the one before."""
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
    """A product of a stored vector in half precision with one in single precision.

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


class Loop:
    """Writes a loop over the parts of a stored vector, in which sums stay in registers."""

    def __init__(self, builder: Any, row: Any, query: Any, count: Any, last: Any) -> None:
        self.builder, self.row, self.query = builder, row, query
        self.count, self.last = count, last

    def add_shorts(self, columns: int) -> list[Any]:
        """The sums of products of bytes with each of a query's vectors."""
        builder = self.builder
        kind = ir.FunctionType(SUMS, [SHORTS, SHORTS])
        instruction = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.wd")

        def add(part: Any, sums: Sequence[Any]) -> list[Any]:
            stored = load(builder, ir.VectorType(BYTE, CHUNK), self.place(part, CHUNK), 0)
            widened = builder.sext(stored, SHORTS)
            query = builder.add(self.query, builder.mul(part, LONG(2 * CHUNK * columns)))
            return [
                builder.add(
                    before,
                    builder.call(instruction, [widened, load(builder, SHORTS, query, 32 * t)]),
                )
                for t, before in enumerate(sums)
            ]

        return self.write(ir.Constant(SUMS, [0] * 8), columns, add)

    def add_halves(self) -> list[Any]:
        """The sums of products in single precision, some independent of each other."""
        builder = self.builder

        def add(part: Any, sums: Sequence[Any]) -> list[Any]:
            stored = self.place(part, 2 * SPAN)
            query = builder.add(self.query, builder.mul(part, LONG(4 * SPAN)))
            added = []
            for number, before in enumerate(sums):
                halves = load(builder, HALVES, stored, 2 * FLOATS * number)
                singles = load(builder, SINGLES, query, 4 * FLOATS * number)
                product = builder.fmul(builder.fpext(halves, SINGLES), singles, flags=("contract",))
                added.append(builder.fadd(before, product, flags=("contract",)))
            return added

        return self.write(ir.Constant(SINGLES, [0.0] * FLOATS), SPAN // FLOATS, add)

    def place(self, part: Any, size: int) -> Any:
        """The address of a part of the stored vector; the last one ends with the vector."""
        builder = self.builder
        behind = builder.mul(part, LONG(size))
        inside = builder.icmp_signed("<", behind, self.last)
        return builder.add(self.row, builder.select(inside, behind, self.last))

    def write(self, zero: Any, count: int, add: Any) -> list[Any]:
        """Write the loop; `add` gets the number of a part, and the sums before."""
        builder, before = self.builder, self.builder.block
        loop = builder.append_basic_block("part")
        builder.branch(loop)
        builder.position_at_end(loop)
        part, *sums = (builder.phi(kind) for kind in (LONG, *[zero.type] * count))
        added = add(part, sums)
        following = builder.add(part, LONG(1))
        for phi, start, end in zip(
            (part, *sums), (LONG(0), *[zero] * count), (following, *added), strict=True
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(end, loop)
        after = builder.append_basic_block("after")
        builder.cbranch(builder.icmp_signed("<", following, self.count), loop, after)
        builder.position_at_end(after)
        return added


def store(builder: Any, sums: Sequence[Any], out: Any) -> None:
    """Add the numbers of each register up, and write the totals behind an address."""
    for start in range(0, len(sums), 4):
        four = [sums[min(start + number, len(sums) - 1)] for number in range(4)]
        pairs = [add_neighbours(builder, *four[:2]), add_neighbours(builder, *four[2:])]
        both = add_neighbours(builder, *pairs)
        low, high = (shuffle(builder, both, both, part) for part in (range(4), range(4, 8)))
        totals, many = builder.add(low, high), min(4, len(sums) - start)
        kept = shuffle(builder, totals, totals, range(many))
        kind = ir.VectorType(INTEGER, many)
        builder.store(kept, pointer(builder, kind, out, 4 * start), align=4)


def add_neighbours(builder: Any, left: Any, right: Any) -> Any:
    """Add neighbours of two registers up, as vphaddd does."""
    even, odd = (
        [first + n for first in (0, 8, 4, 12) for n in (start, start + 2)] for start in (0, 1)
    )
    return builder.add(shuffle(builder, left, right, even), shuffle(builder, left, right, odd))


def shuffle(builder: Any, left: Any, right: Any, places: Sequence[int]) -> Any:
    """Numbers of two registers, by their places in both."""
    mask = ir.Constant(ir.VectorType(INTEGER, len(places)), list(places))
    return builder.shuffle_vector(left, right, mask)


def load(builder: Any, kind: Any, address: Any, offset: int) -> Any:
    """The value some bytes behind an address, which need not be aligned."""
    return builder.load(pointer(builder, kind, address, offset), align=1)


def pointer(builder: Any, kind: Any, address: Any, offset: int) -> Any:
    """A pointer to some bytes behind an address."""
    return builder.inttoptr(builder.add(address, LONG(offset)), kind.as_pointer())


by_2, by_4, by_8, by_12 = (tile(columns) for columns in WIDTHS)
