"""Memory that the C library holds: large buffers go back to the system once they are free."""

from __future__ import annotations

import ctypes

# glibc's numbers of options, and their values. Left to itself it keeps what photos once took.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
OPTIONS = {TRIM_THRESHOLD: 2**20, MMAP_THRESHOLD: 2**20, ARENA_MAX: 2}


def give_back() -> bool:
    """From now on give free buffers of a megabyte or more back; False where that is no option."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(*option) == 1 for option in OPTIONS.items())
