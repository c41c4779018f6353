"""Machine code of loops, compiled by numba for this processor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from llvmlite import binding
from numba import config, njit

# Sums may be regrouped, which lets them use vector instructions; infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
FINITE = {"nnan", "nsz"}  # for numpy's rounding, of finite numbers


def compile_loop(
    function: Callable[..., Any], flags: set[str] = FAST, *, unchecked: bool = False
) -> Callable[..., Any]:
    """Machine code, cached on disk if possible; it releases the GIL.

    With `unchecked`, division by zero gives infinity or NaN: a check of each divisor keeps loops
    from vectors. Caches know nothing of these options, so a file must change along with them.
    Where loops call it, it becomes a part of them: else a process that compiles them would run
    other code of it than one that reads them from disk, and sums would differ in their last digits.
    """
    errors = "numpy" if unchecked else "python"
    compiled = partial(njit, nogil=True, fastmath=flags, inline="always", error_model=errors)
    try:
        return compiled(function, cache=True)  # type: ignore[no-any-return]
    except RuntimeError:  # numba found no writable folder for its cache
        return compiled(function)  # type: ignore[no-any-return]


@cache
def has(*features: str) -> bool:
    """Return whether numba compiles for a processor with all of some features."""
    chosen = config.CPU_NAME not in (None, "host") or config.CPU_FEATURES is not None
    if chosen or config.DISABLE_JIT or not config.ENABLE_AVX:
        return False
    available = binding.get_host_cpu_features()
    return all(available.get(feature, False) for feature in features)
