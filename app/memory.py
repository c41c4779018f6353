"""Memory during work on photos, of the C library and of networks."""

from __future__ import annotations

import ctypes
import gc

# glibc's numbers of options, and their values. A buffer of MMAP_THRESHOLD bytes or more is mapped
# by itself and unmapped when it is freed, so each of its pages of 4 KB costs a page fault every
# time. With a threshold of 1 MB these took nearly half of the time of a photo (decision 0021).
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
OPTIONS = {TRIM_THRESHOLD: 2**27, MMAP_THRESHOLD: 2**25, ARENA_MAX: 2}

YOUNG = 10_000  # new objects until a look for garbage among them: a search makes thousands


def collect_seldom() -> None:
    """Look for garbage after 10,000 new objects, not 700.

    While a service loads it makes hundreds of thousands that stay; to look through them again and
    again takes a tenth of its start.
    """
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


def hold() -> bool:
    """Reuse buffers of up to 32 MB; False if the C library cannot."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(*option) == 1 for option in OPTIONS.items())


def give_back() -> bool:
    """Return free memory to the system, in milliseconds; False if not possible."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and trim(0) == 1


def rest() -> None:
    """Return also the memory of networks between photos.

    The next photo takes a tenth longer.
    """
    from models.vision import openvino

    openvino.release()
    give_back()
