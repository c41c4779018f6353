"""Machine code of loops, compiled by numba for this processor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import binding
from numba import config, njit

# Sums may be regrouped, which lets them use vector instructions; infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
FINITE = {"nnan", "nsz"}  # for numpy's rounding, of finite numbers


def compile_loop(function: Callable[..., Any], flags: set[str] = FAST) -> Callable[..., Any]:
    """Machine code, cached on disk if possible; it releases the GIL."""
    try:
        return njit(function, nogil=True, fastmath=flags, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # numba found no writable folder for its cache
        return njit(function, nogil=True, fastmath=flags)  # type: ignore[no-any-return]


@cache
def has(*features: str) -> bool:
    """Return whether numba compiles for a processor with all of some features."""
    chosen = config.CPU_NAME not in (None, "host") or config.CPU_FEATURES is not None
    if chosen or config.DISABLE_JIT or not config.ENABLE_AVX:
        return False
    available = binding.get_host_cpu_features()
    return all(available.get(feature, False) for feature in features)
