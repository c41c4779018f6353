"""The machine: its description, and the speed of its memory."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numba
import numpy as np
import torch
from threadpoolctl import threadpool_limits

READ = 2**28  # numbers in single precision: 1 GB
ROUNDS = 5


def use(threads: int) -> None:
    """Give every library so many threads."""
    torch.set_num_threads(threads)
    faiss.omp_set_num_threads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    threadpool_limits(threads)
    os.environ["LANCE_CPU_THREADS"] = str(threads)


def describe(threads: int, numbers: int = READ) -> dict[str, Any]:
    """The processor, its load, and its read bandwidth in GB/s.

    With one thread and with all.
    """
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    array = np.ones(numbers, np.float32)
    tensor = torch.from_numpy(array)
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads,
        "load": os.getloadavg()[0],
        "read_one": bandwidth(array.nbytes, array.sum),
        "read_all": bandwidth(array.nbytes, tensor.sum),
    }


def bandwidth(size: int, read: Callable[[], object]) -> float:
    """GB/s of the fastest of some rounds."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        read()
        taken.append(time.perf_counter() - begun)
    return size / min(taken) / 1e9
