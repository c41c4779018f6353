"""MiniLM's layers over short texts, by compiled loops (Devlin et al. 2019).

Of a few tokens, nearly all time goes into reading weights. In half precision they are half the
bytes; products and sums are in single precision.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray
from torch import Tensor, nn

from models.machine_code import compile_loop, has
from models.threads import Workers

if TYPE_CHECKING:
    from models.text.words import PackedLayer

Floats = NDArray[np.float32]
Halves = NDArray[np.int16]  # numbers in half precision, whose type numba lacks
Numbers = NDArray[np.int64]

MOST = 32  # tokens of a text: longer ones torch passes as quickly, and many of them quicker
FEATURES = ("avx2", "f16c", "fma")
EPSILON = np.float32(1e-12)  # of layer norms
# As many sums as registers hold: of each of so many tokens, VECTORS of LANES numbers. The more
# tokens, the less often weights are converted to single precision.
LANES, VECTORS, TOKENS = (16, 2, 14) if has("avx512f") else (8, 2, 6)
ATTENDING = min(TOKENS, 7)  # tokens of attention's products: more take as long, and to compile
SHARE = 64  # tokens of texts that one thread passes together, about
LINE = 64  # bytes of a line of a cache
BLOCK = LANES * VECTORS  # outputs of a linear map that are computed together

LONG, INTEGER = ir.IntType(64), ir.IntType(32)
SINGLES = ir.VectorType(ir.FloatType(), LANES)
HALVES = ir.VectorType(ir.HalfType(), LANES)


compile_unchecked = partial(compile_loop, unchecked=True)


def works() -> bool:
    """Return whether the processor has the instructions."""
    return has(*FEATURES)


class PackedWeights:
    """The weights of layers in half precision, in the order in which loops read them."""

    def __init__(self, layers: Sequence[PackedLayer]) -> None:
        """Copy the layers' weights; as many threads as torch has here share texts."""
        # Later torch may have others: FAISS sets OpenMP's to one in each thread that searches.
        self._threads = torch.get_num_threads()
        self._heads = layers[0].heads
        maps = [
            [(layer.query, layer.key, layer.value), (layer.mix,), (layer.widen,), (layer.narrow,)]
            for layer in layers
        ]
        self._weights = np.concatenate([pack(parts) for layer in maps for parts in layer])
        self._biases = stack([part.bias for parts in layer for part in parts] for layer in maps)
        self._norms = stack(
            [layer.attended.weight, layer.attended.bias, layer.done.weight, layer.done.bias]
            for layer in layers
        )

    def __call__(self, tokens: Tensor, lengths: Sequence[int]) -> Tensor:
        """The states (N, H) above the layers of texts of some lengths, N tokens in all."""
        if not len(tokens):
            return tokens
        # One token after another, in any case: loops compute addresses.
        states = np.array(tokens.numpy(force=True), np.float32, order="C")
        ends = np.cumsum([0, *lengths])

        def pass_part(part: tuple[int, int]) -> None:
            places = ends[part[0] : part[1] + 1]
            of_part = states[places[0] : places[-1]]
            packed = self._weights, self._biases, self._norms
            pass_layers(of_part, places - places[0], *packed, self._heads)

        _, firsts = np.unique(ends[:-1] // SHARE, return_index=True)
        parts = [*pairwise([*firsts.tolist(), len(lengths)])]
        self.choose_workers().map(pass_part, parts)
        return torch.from_numpy(states)

    def choose_workers(self) -> Workers:
        """The threads for texts, as nice as the caller."""
        return make_workers(self._threads, os.getpriority(os.PRIO_PROCESS, 0))


@cache
def make_workers(threads: int, niceness: int) -> Workers:  # noqa: ARG001 - new threads inherit it
    """Make the threads for callers with some niceness."""
    return Workers(threads)


def pack(parts: Sequence[nn.Linear]) -> Halves:
    """Pack the weights (O, I) of linear maps with the same inputs: O / BLOCK times (I, BLOCK)."""
    weights = torch.cat([part.weight for part in parts]).detach().numpy().astype(np.float16)
    blocks = weights.reshape(-1, BLOCK, weights.shape[1]).transpose(0, 2, 1)
    return blocks.reshape(-1).view(np.int16)


def stack(layers: Iterable[Sequence[Tensor]]) -> Floats:
    """Stack the numbers of layers, each in a row."""
    rows: Floats = torch.stack([torch.cat([*parts]) for parts in layers]).detach().numpy()
    return rows


def make_tile(kind: Any, most: int) -> Any:
    """Make `multiply_tile` for HALVES or SINGLES, and `most` tokens."""

    @intrinsic
    def multiply_tile(  # type: ignore[no-untyped-def]
        _typing, _many, _block, _first, _step, _count, _out, _out_step, _later, _bytes
    ):
        """Multiply a block with one token or up to `most`.

        The arguments are how many tokens, the addresses of the block and of the first token, the
        bytes of a token, the number of inputs, the address of the first output, the bytes from a
        token's outputs to the next one's, and an address from which some bytes an input are loaded
        for later.
        """

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            builder.call(define_tile(builder.module, kind, most), arguments)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 9), generate

    return multiply_tile


def define_tile(module: Any, kind: Any, most: int) -> Any:
    """The function of `multiply_tile` in a module.

    All its calls share it: a copy for each of them would take seconds more to compile.
    """
    signature = ir.FunctionType(ir.VoidType(), [LONG] * 9)
    function = cgutils.get_or_insert_function(module, signature, f"multiply_tile_{kind.element}")
    if not function.is_declaration:
        return function
    function.linkage = "internal"
    function.attributes.add("noinline")
    many, block, first, step, count, out, out_step, *later = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    after = builder.append_basic_block("multiplied")
    choice = builder.switch(many, after)
    for tokens in range(1, most + 1):
        case = builder.append_basic_block("tokens")
        choice.add_case(LONG(tokens), case)
        builder.position_at_end(case)
        sums = write_loop(builder, kind, block, [first, step, count], tokens, later)
        for at, total in enumerate(sums):
            number, vector = divmod(at, VECTORS)
            row = builder.add(out, builder.mul(out_step, LONG(number)))
            builder.store(total, pointer(builder, SINGLES, row, 4 * LANES * vector), align=4)
        builder.branch(after)
    builder.position_at_end(after)
    builder.ret_void()
    return function


def write_loop(
    builder: Any, kind: Any, block: Any, inputs: Sequence[Any], tokens: int, later: Sequence[Any]
) -> list[Any]:
    """Write a loop over inputs; returns each token's sums."""
    (first, step, count), (address, size) = inputs, later
    long = 2 if kind == HALVES else 4  # bytes of a number of the block
    before, loop = builder.block, builder.append_basic_block("input")
    builder.branch(loop)
    builder.position_at_end(loop)
    number, *sums = (builder.phi(kind) for kind in (LONG, *[SINGLES] * (tokens * VECTORS)))
    row = builder.add(block, builder.mul(number, LONG(long * BLOCK)))
    weights = [
        builder.load(pointer(builder, kind, row, long * LANES * vector), align=long)
        for vector in range(VECTORS)
    ]
    if kind == HALVES:
        weights = [builder.fpext(weight, SINGLES) for weight in weights]
    load_for_later(builder, builder.add(address, builder.mul(number, size)))
    added = []
    for token in range(tokens):
        place = builder.add(first, builder.mul(step, LONG(token)))
        place = builder.add(place, builder.mul(number, LONG(4)))
        value = builder.load(pointer(builder, ir.FloatType(), place, 0), align=4)
        alone = builder.insert_element(ir.Constant(SINGLES, ir.Undefined), value, INTEGER(0))
        zeros = ir.Constant(ir.VectorType(INTEGER, LANES), [0] * LANES)
        spread = builder.shuffle_vector(alone, alone, zeros)
        for vector, weight in enumerate(weights):
            product = builder.fmul(weight, spread, flags=("contract",))
            added.append(builder.fadd(sums[token * VECTORS + vector], product, flags=("contract",)))
    following = builder.add(number, LONG(1))
    zero = ir.Constant(SINGLES, [0.0] * LANES)
    starts, ends = (LONG(0), *[zero] * len(sums)), (following, *added)
    for phi, start, end in zip((number, *sums), starts, ends, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(end, loop)
    after = builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    builder.position_at_end(after)
    return added


def load_for_later(builder: Any, address: Any) -> None:
    """Load the lines of 2 * BLOCK bytes into the second cache."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[INTEGER] * 3])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    for line in range(0, 2 * BLOCK, LINE):
        place = pointer(builder, ir.IntType(8), address, line)
        builder.call(function, [place, INTEGER(0), INTEGER(2), INTEGER(1)])


multiply_halves, multiply_singles = make_tile(HALVES, TOKENS), make_tile(SINGLES, ATTENDING)


def pointer(builder: Any, kind: Any, address: Any, offset: int) -> Any:
    """A pointer to some bytes behind an address."""
    return builder.inttoptr(builder.add(address, LONG(offset)), kind.as_pointer())


@compile_unchecked
def multiply(tokens: Floats, weights: Halves, biases: Floats, out: Floats) -> None:
    """Write a linear map of tokens (N, I) to out (N, O).

    Meanwhile it loads the next block, or what lies behind the last one: the next map's weights.
    """
    (N, inputs), outputs = tokens.shape, out.shape[1]
    size = 2 * BLOCK * inputs
    parts = (N + TOKENS - 1) // TOKENS
    later = 2 * BLOCK // parts
    for number in range(outputs // BLOCK):
        block = weights.ctypes.data + size * number
        for part in range(parts):
            first, end = N * part // parts, N * (part + 1) // parts
            multiply_halves(
                end - first,
                block,
                tokens.ctypes.data + 4 * inputs * first,
                4 * inputs,
                inputs,
                out.ctypes.data + 4 * (outputs * first + BLOCK * number),
                4 * outputs,
                block + size + later * inputs * part,
                later,
            )
    for n in range(N):
        for o in range(outputs):
            out[n, o] += biases[o]


@compile_unchecked
def share(products: Floats) -> None:
    """Write softmax(x) of products x (N,) to them."""
    most, total = np.float32(-np.inf), np.float32(0)
    for n in range(len(products)):
        most = max(most, products[n])
    for n in range(len(products)):
        products[n] = np.exp(products[n] - most)
        total += products[n]
    for n in range(len(products)):
        products[n] /= total


@compile_unchecked
def multiply_block(tokens: Floats, block: Floats, out: Floats) -> None:
    """Write tokens (N, I) times blocks (B, I, BLOCK) to out (N, B · BLOCK), rows of any step."""
    step, out_step = tokens.strides[0], out.strides[0]
    for number in range(len(block)):
        address = block[number].ctypes.data
        for first in range(0, len(tokens), ATTENDING):
            multiply_singles(
                min(ATTENDING, len(tokens) - first),
                address,
                tokens.ctypes.data + step * first,
                step,
                block.shape[1],
                out.ctypes.data + out_step * first + 4 * BLOCK * number,
                out_step,
                address,
                0,
            )


@compile_unchecked
def attend(parts: Floats, ends: Numbers, heads: int, out: Floats) -> None:
    """Write softmax(Q Kᵀ / √d) V of each head and text to out (N, H), of parts (N, 3H)."""
    H = out.shape[1]
    size = H // heads
    scale = np.float32(1 / math.sqrt(size))
    wide = (size + BLOCK - 1) // BLOCK
    for text in range(len(ends) - 1):
        first, end = ends[text], ends[text + 1]
        N = end - first
        long = (N + BLOCK - 1) // BLOCK
        keys, values = (
            np.zeros((long, size, BLOCK), np.float32),
            np.zeros((wide, N, BLOCK), np.float32),
        )
        shares, weighted = (
            np.empty((N, long * BLOCK), np.float32),
            np.empty((N, wide * BLOCK), np.float32),
        )
        for head in range(0, H, size):
            of_keys = parts[first:end, H + head : H + head + size]
            of_values = parts[first:end, 2 * H + head : 2 * H + head + size]
            for n in range(N):
                for c in range(size):
                    keys[n // BLOCK, c, n % BLOCK] = scale * of_keys[n, c]
                    values[c // BLOCK, n, c % BLOCK] = of_values[n, c]
            multiply_block(parts[first:end, head : head + size], keys, shares)
            for n in range(N):
                share(shares[n, :N])
            multiply_block(shares[:, :N], values, weighted)
            for n in range(N):
                for c in range(size):
                    out[first + n, head + c] = weighted[n, c]


@compile_unchecked
def add_and_normalize(states: Floats, added: Floats, weights: Floats, biases: Floats) -> None:
    """Write LayerNorm(states + added) to states, all (N, H)."""
    N, H = states.shape
    for n in range(N):
        total = np.float32(0)
        for h in range(H):
            states[n, h] += added[n, h]
            total += states[n, h]
        mean, squares = total / np.float32(H), np.float32(0)
        for h in range(H):
            states[n, h] -= mean
            squares += states[n, h] * states[n, h]
        factor = np.float32(1) / np.sqrt(squares / np.float32(H) + EPSILON)
        for h in range(H):
            states[n, h] = states[n, h] * factor * weights[h] + biases[h]


@compile_unchecked
def gelu(states: Floats) -> None:
    """Write x (1 + erf(x / √2)) / 2 to states (N, W).

    erf is z P(z²) / Q(z²) up to |z| = 3.9, off by less than 4e-7 (P and Q were fitted so that the
    largest error is smallest): such a loop uses vector instructions.
    """
    most, root = np.float32(3.9), np.float32(math.sqrt(0.5))
    for n in range(states.shape[0]):
        for w in range(states.shape[1]):
            x = states[n, w]
            z = min(max(root * x, -most), most)
            s = z * z
            p = np.float32(2.01186622e-08)
            p = p * s - np.float32(1.99693117e-06)
            p = p * s + np.float32(0.000147476251)
            p = p * s + np.float32(0.00389633271)
            p = p * s + np.float32(0.0511490642)
            p = p * s + np.float32(0.204226116)
            p = p * s + np.float32(1.1283788)
            q = np.float32(0.00100661642)
            q = q * s + np.float32(0.0147305968)
            q = q * s + np.float32(0.11678602)
            q = q * s + np.float32(0.514319695)
            q = q * s + np.float32(1)
            states[n, w] = np.float32(0.5) * x * (np.float32(1) + z * p / q)


@compile_unchecked
def pass_layers(
    states: Floats, ends: Numbers, weights: Halves, biases: Floats, norms: Floats, heads: int
) -> None:
    """Pass states (N, H) of texts, which end where `ends` (L + 1,) says, through all layers."""
    N, H = states.shape
    W = biases.shape[1] - 5 * H
    parts, context = np.empty((N, 3 * H), np.float32), np.empty((N, H), np.float32)
    widened, added = np.empty((N, W), np.float32), np.empty((N, H), np.float32)
    start = 0  # of the next map's weights
    for layer in range(len(biases)):
        norm, first = norms[layer], 0
        # One call of `multiply` for four maps: each is compiled by itself.
        for step in range(4):
            if step == 0:
                source, target = states, parts
            elif step == 1:
                source, target = context, added
            elif step == 2:
                source, target = states, widened
            else:
                source, target = widened, added
            end = first + target.shape[1]
            multiply(source, weights[start:], biases[layer, first:end], target)
            start, first = start + source.shape[1] * target.shape[1], end
            if step == 0:
                attend(parts, ends, heads, context)
            elif step == 2:
                gelu(widened)
            else:
                at = H * step
                add_and_normalize(states, added, norm[at - H : at], norm[at : at + H])
