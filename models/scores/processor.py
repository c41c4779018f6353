"""The processor, as numba compiles for it."""

from __future__ import annotations

from functools import cache

from llvmlite import binding
from numba import config


@cache
def has(*features: str) -> bool:
    """Return whether numba compiles for a processor with all of some features."""
    chosen = config.CPU_NAME not in (None, "host") or config.CPU_FEATURES is not None
    if chosen or config.DISABLE_JIT or not config.ENABLE_AVX:
        return False
    available = binding.get_host_cpu_features()
    return all(available.get(feature, False) for feature in features)
