"""Instructions of loops over stored vectors, in LLVM's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.machine_code import compile_loop

CHUNK = 16  # bytes of a stored vector that are multiplied at a time
SPAN = 32  # numbers in half precision that are multiplied at a time
FLOATS = 8  # numbers in single precision in a register
AHEAD = 16  # vectors that are loaded before they are multiplied: else rows in any order wait
LINE = 64  # bytes of a line of a cache

LONG, INTEGER, SHORT, BYTE = (ir.IntType(bits) for bits in (64, 32, 16, 8))
SUMS = ir.VectorType(INTEGER, 8)
SHORTS = ir.VectorType(SHORT, CHUNK)
SINGLES = ir.VectorType(ir.FloatType(), FLOATS)
HALVES = ir.VectorType(ir.HalfType(), FLOATS)


class Loop:
    """Writes a loop over a stored vector, with sums in registers."""

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
        """The address of a part; the last one ends with the vector."""
        builder = self.builder
        behind = builder.mul(part, LONG(size))
        inside = builder.icmp_signed("<", behind, self.last)
        return builder.add(self.row, builder.select(inside, behind, self.last))

    def write(self, zero: Any, count: int, add: Any) -> list[Any]:
        """Write the loop; `add` gets a part's number, and the sums before."""
        builder, before = self.builder, self.builder.block
        loop = builder.append_basic_block("part")
        builder.branch(loop)
        builder.position_at_end(loop)
        part, *sums = (builder.phi(kind) for kind in (LONG, *[zero.type] * count))
        added: list[Any] = add(part, sums)
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
    """Add up the numbers of each register, and write the totals."""
    for start in range(0, len(sums), 4):
        four = [sums[min(start + number, len(sums) - 1)] for number in range(4)]
        pairs = [add_neighbours(builder, *four[:2]), add_neighbours(builder, *four[2:])]
        both = add_neighbours(builder, *pairs)
        low, high = (shuffle(builder, both, both, part) for part in (range(4), range(4, 8)))
        totals, many = builder.add(low, high), min(4, len(sums) - start)
        first = shuffle(builder, totals, totals, range(many))
        kind = ir.VectorType(INTEGER, many)
        builder.store(first, pointer(builder, kind, out, 4 * start), align=4)


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


def load(builder: Any, kind: Any, address: Any, offset: Any, align: int | None = 1) -> Any:
    """The value some bytes behind an address, aligned or not."""
    return builder.load(pointer(builder, kind, address, offset), align=align)


def pointer(builder: Any, kind: Any, address: Any, offset: Any) -> Any:
    """A pointer to some bytes behind an address; offset is a number or a value."""
    behind = LONG(offset) if isinstance(offset, int) else offset
    return builder.inttoptr(builder.add(address, behind), kind.as_pointer())


@intrinsic
def prefetch(_typing, _address):  # type: ignore[no-untyped-def]
    """Load a line of a cache, for reading."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), *[INTEGER] * 3])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.inttoptr(arguments[0], BYTE.as_pointer())
        builder.call(function, [address, INTEGER(0), INTEGER(3), INTEGER(1)])
        return context.get_dummy_value()

    return types.void(types.intp), generate


@compile_loop
def fetch(address: int, size: int) -> None:
    """Load some bytes into the processor's caches; any address will do."""
    for line in range(0, size, LINE):
        prefetch(address + line)
