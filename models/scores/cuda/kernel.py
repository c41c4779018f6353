"""Scores of all rows in the memory of an NVIDIA GPU, in one pass over their codes.

The kernels (rows.cuh, images.cuh, sentences.cuh) are compiled by NVRTC, which torch brings with
CUDA, when they are first used: in a third of a second, and without a compiler of one's own.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

from models.scores.cuda.arguments import OutPointers, QueryPointers, RowPointers

READ = 64  # numbers of a vector that are multiplied together: rows are padded to a multiple
TOGETHER = 8 * READ  # numbers of a vector that are read before they are multiplied
HELD = 8192  # numbers of a query that stay in registers at most
TILES = {True: 16, False: 8}  # vectors of a query in a tile, for images and for sentences
MANY = {True: 3, False: 5}  # tiles from which on they are read again for each row
LANES = 32  # threads of a warp
WARPS = 4  # of a block that scores images
WORDS = 16  # of sentences that are multiplied together
OLDEST = 8, 0  # compute capability that multiplies so many bytes
FOLDER = Path(__file__).parent
FILES = "instructions.cuh", "rows.cuh", "images.cuh", "sentences.cuh"


class KernelShape(NamedTuple):
    """The kernels' parameters, as rows.cuh says, and whether rows are images."""

    images: bool
    positives: bool
    size: int
    tiles: int
    held: bool

    @classmethod
    def of(cls, vectors: int, size: int, *, images: bool, positives: bool) -> KernelShape:
        """Choose them for a query of so many vectors of `size` numbers."""
        tiles = min(MANY[images], -(-vectors // TILES[images]))
        numbers = tiles * TILES[images] * size
        held = tiles < MANY[images] and size <= TOGETHER and numbers <= HELD
        together = tiles if tiles < MANY[images] else 1 if images else 4
        return cls(images, positives, size, together, held)

    @property
    def step(self) -> int:
        """The vectors that fragments are multiplied by, once read."""
        return self.tiles * TILES[self.images]

    @property
    def names(self) -> tuple[str, ...]:
        """The functions' names in C++."""
        numbers = [self.size, self.tiles, int(self.held)]
        positives = int(self.positives)
        if not self.images:
            named = ", ".join(map(str, numbers))
            return f"score_words<{named}, {positives}>", f"add_words<{positives}>"
        depth = min(4, max(1, 12 // min(self.size // READ, 8)))
        named = ", ".join(map(str, [*numbers, depth, positives]))
        return (f"score_images<{named}>",)


class Kernel:
    """The kernels of a shape, on one device, whose context is current."""

    def __init__(self, shape: KernelShape, capability: tuple[int, int], processors: int) -> None:
        from cuda.bindings import driver

        if capability < OLDEST:
            oldest, this = (".".join(map(str, version)) for version in (OLDEST, capability))
            raise RuntimeError(f"a GPU of compute capability {oldest} is needed, this has {this}")
        image, names = compile_for(shape, capability)
        self._library = check(driver.cuLibraryLoadData(image, [], [], 0, [], [], 0))
        kernels = [check(driver.cuLibraryGetKernel(self._library, name)) for name in names]
        self._functions = [check(driver.cuKernelGetFunction(kernel)) for kernel in kernels]
        threads = LANES * (WARPS if shape.images else 1)
        count = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self._functions[0], threads, 0)
        self._blocks = processors * max(1, int(check(count)))

    def score_images(
        self, rows: RowPointers, query: QueryPointers, out: OutPointers, stream: int
    ) -> None:
        """Score images for a query, on a stream."""
        blocks = min(self._blocks, -(-rows.count // WARPS))
        self._launch(0, blocks, WARPS, (rows, query, out), stream)

    def score_sentences(
        self,
        rows: RowPointers,
        words: int,
        query: QueryPointers,
        out: OutPointers,
        values: int,
        stream: int,
    ) -> None:
        """Score sentences of so many words for a query's part, on a stream.

        `values` is the address of as many numbers (words,) that are written in between.
        """
        about = ctypes.c_void_p(rows.codes), ctypes.c_longlong(words)
        between = ctypes.c_void_p(values)
        blocks = min(self._blocks, -(-words // WORDS))
        self._launch(0, blocks, 1, (*about, query, between), stream)
        blocks = -(-rows.count // LANES)
        self._launch(1, blocks, 1, (rows, query, out, between), stream)

    def _launch(
        self, number: int, blocks: int, warps: int, arguments: tuple[Any, ...], stream: int
    ) -> None:
        """Launch blocks of some warps for a function, on a stream; RuntimeError."""
        from cuda.bindings import driver

        pointers, grid = addresses_of(arguments), (blocks, 1, 1, LANES * warps, 1, 1)
        address = ctypes.addressof(pointers)
        check(driver.cuLaunchKernel(self._functions[number], *grid, 0, stream, address, 0))


def addresses_of(arguments: tuple[Any, ...]) -> ctypes.Array[ctypes.c_void_p]:
    """The addresses of a function's arguments, which must live until it is launched."""
    return (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))


def read_source() -> str:
    """The kernels in C++."""
    return "\n".join((FOLDER / name).read_text() for name in FILES)


def compile_for(shape: KernelShape, capability: tuple[int, int]) -> tuple[bytes, list[bytes]]:
    """Compile kernels: machine code, and the functions' names in it; RuntimeError."""
    from cuda.bindings import nvrtc

    source = read_source().encode()
    program = check(nvrtc.nvrtcCreateProgram(source, b"rows.cu", 0, [], []))
    try:
        for name in shape.names:
            check(nvrtc.nvrtcAddNameExpression(program, name.encode()))
        options = ["--gpu-architecture=sm_{}{}".format(*capability).encode(), b"--std=c++17"]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if result:
            log = bytearray(check(nvrtc.nvrtcGetProgramLogSize(program)))
            check(nvrtc.nvrtcGetProgramLog(program, log))
            raise RuntimeError(f"{result.name}: {log.decode(errors='replace')}")
        image = bytearray(check(nvrtc.nvrtcGetCUBINSize(program)))
        check(nvrtc.nvrtcGetCUBIN(program, image))
        names = [check(nvrtc.nvrtcGetLoweredName(program, name.encode())) for name in shape.names]
    finally:
        check(nvrtc.nvrtcDestroyProgram(program))
    return bytes(image), names


def check(answer: tuple[Any, ...]) -> Any:
    """What a function of CUDA returned, without its result code; RuntimeError by it."""
    result, *values = answer
    if result:
        raise RuntimeError(f"CUDA: {result.name}")
    return values[0] if len(values) == 1 else tuple(values)
