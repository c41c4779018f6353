"""Waits of tests for other processes and threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(true: Callable[[], Any], seconds: float, every: float = 0.05) -> float:
    """Wait until something is true; the seconds it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"not within {seconds} seconds"
        time.sleep(every)
    return time.monotonic() - began
