"""The kernels of GPUs on a processor, by contexts for lanes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from models.scores.cuda import kernel
from models.scores.cuda.arguments import OutPointers, QueryPointers, RowPointers
from models.scores.cuda.kernel import KernelShape

BLOCKS = 2
COMPILER = shutil.which("g++")
IMAGES = """
extern "C" void images(Rows* rows, Query* query, Out* out, int blocks, int warps) {{
    run(blocks, warps, [=] {{ {}(*rows, *query, *out); }});
}}
"""
SENTENCES = """
extern "C" void sentences(
    Rows* rows, long long words, Query* query, Out* out, float* values, int blocks) {{
    run(blocks, 1, [=] {{ {}(rows->codes, words, *query, values); }});
    run((rows->count + LANES - 1) / LANES, 1, [=] {{ {}(*rows, *query, *out, values); }});
}}
"""


class Emulated:
    """A kernel.Kernel on a processor."""

    def __init__(self, shape: KernelShape) -> None:
        assert COMPILER is not None
        warp = Path(__file__).with_name("warp.h").read_text()
        pieces = [warp, *((kernel.FOLDER / name).read_text() for name in kernel.FILES[1:])]
        pieces.append((IMAGES if shape.images else SENTENCES).format(*shape.names))
        with TemporaryDirectory() as folder:
            source, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            source.write_text("\n".join(pieces))
            options = "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-o", library
            subprocess.run([COMPILER, source, *options], check=True)  # noqa: S603 - our own source
            self._library = ctypes.CDLL(str(library))

    def score_images(
        self, rows: RowPointers, query: QueryPointers, out: OutPointers, _stream: int
    ) -> None:
        """See kernel.Kernel.score_images."""
        pointers = (ctypes.byref(argument) for argument in (rows, query, out))
        self._library.images(*pointers, BLOCKS, kernel.WARPS)

    def score_sentences(
        self,
        rows: RowPointers,
        words: int,
        query: QueryPointers,
        out: OutPointers,
        values: int,
        _stream: int,
    ) -> None:
        """See kernel.Kernel.score_sentences."""
        assert values
        between = np.full(words + 1, np.nan, np.float32)
        about = ctypes.byref(rows), ctypes.c_longlong(words), ctypes.byref(query)
        address = between.ctypes.data_as(ctypes.c_void_p)
        self._library.sentences(*about, ctypes.byref(out), address, BLOCKS)
        assert np.isnan(between).tolist() == [False] * words + [True], "each once, and no more"
