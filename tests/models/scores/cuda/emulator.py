"""The kernels of GPUs on a processor, by contexts for lanes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from models.scores.cuda import kernel
from models.scores.cuda.arguments import RowPointers
from models.scores.cuda.kernel import Kernel, KernelShape, addresses_of

COMPILER = shutil.which("g++")
LAUNCH = """
template <typename Argument>
Argument& at(void** arguments, int number) {{
    return *static_cast<Argument*>(arguments[number]);
}}

extern "C" void launch(int number, int blocks, int warps, void** a) {{
    {}
}}
"""
IMAGES = "run(blocks, warps, [=] {{ {}(at<Rows>(a, 0), at<Query>(a, 1), at<Out>(a, 2)); }});"
SENTENCES = """
    if (number == 0)
        run(blocks, warps, [=] {{
            {}(at<Code*>(a, 0), at<long long>(a, 1), at<Query>(a, 2), at<float*>(a, 3));
        }});
    else
        run(blocks, warps, [=] {{
            {}(at<Rows>(a, 0), at<Query>(a, 1), at<Out>(a, 2), at<float*>(a, 3));
        }});
"""


class Emulated(Kernel):
    """The kernels of a shape on a processor."""

    def __init__(self, shape: KernelShape) -> None:
        assert COMPILER is not None
        warp = Path(__file__).with_name("warp.h").read_text()
        pieces = [warp, *((kernel.FOLDER / name).read_text() for name in kernel.FILES[1:])]
        pieces.append(LAUNCH.format((IMAGES if shape.images else SENTENCES).format(*shape.names)))
        with TemporaryDirectory() as folder:
            source, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
            source.write_text("\n".join(pieces))
            options = "-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-o", library
            subprocess.run([COMPILER, source, *options], check=True)  # noqa: S603 - our own source
            self._library = ctypes.CDLL(str(library))
        self._blocks = 2

    def score_sentences(
        self, rows: RowPointers, words: int, query: Any, out: Any, values: int, stream: int
    ) -> None:
        """Check the numbers in between, too."""
        assert values
        between = np.full(words + 1, np.nan, np.float32)
        super().score_sentences(rows, words, query, out, between.ctypes.data, stream)
        assert np.isnan(between).tolist() == [False] * words + [True], "each once, and no more"

    def _launch(
        self, number: int, blocks: int, warps: int, arguments: tuple[Any, ...], _stream: int
    ) -> None:
        self._library.launch(number, blocks, warps, addresses_of(arguments))
