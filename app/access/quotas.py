"""Quotas of callers: their requests in a time, and at once."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from app.http.errors import TooManyRequests

if TYPE_CHECKING:
    from limits.strategies import RateLimiter


class Quotas:
    """Counts the requests of each caller, for one event loop."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()

    @contextmanager
    def request(self, caller: str, rate: str | None, at_once: int | None) -> Iterator[None]:
        """A request of a caller, while it runs.

        Raises TooManyRequests beyond a rate such as "100/minute", or more than `at_once` together.
        """
        if at_once is not None and self._running[caller] >= at_once:
            raise TooManyRequests(f"{caller} has {at_once} requests running, and may not have more")
        if rate is not None:
            self._count(caller, rate)
        self._running[caller] += 1
        try:
            yield
        finally:
            self._running[caller] -= 1
            if not self._running[caller]:
                del self._running[caller]

    def _count(self, caller: str, rate: str) -> None:
        from limits import parse  # here, as it costs 0.3 s, and most services have no limit

        window = parse(rate)
        if self._windows.hit(window, caller):
            return
        wait = math.ceil(self._windows.get_window_stats(window, caller).reset_time - time.time())
        raise TooManyRequests(f"{caller} may send {rate}", wait=max(1, wait))

    @cached_property
    def _windows(self) -> RateLimiter:
        """Sliding windows: two numbers a caller for any number of requests."""
        from limits.storage import MemoryStorage
        from limits.strategies import SlidingWindowCounterRateLimiter

        return SlidingWindowCounterRateLimiter(MemoryStorage())
