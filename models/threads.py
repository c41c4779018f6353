"""Workers: threads for the work of a request."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")


CONTAINER = Path("/sys/fs/cgroup")  # of a container: its own limits


def count_cores(limits: Path = CONTAINER) -> int:
    """Count the processors of this process.

    A container with a quota gets no more than that: the kernel would run threads on all of the
    host's, and then stop them for the rest of each tenth of a second.
    """
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = read_quota(limits)
    except (OSError, ValueError):  # none, or another way to tell
        return cores
    return max(1, min(cores, math.ceil(quota / period))) if quota > 0 < period else cores


def read_quota(limits: Path) -> tuple[int, int]:
    """Read a control group's quota and period in microseconds, of version 2 or 1.

    ValueError for one without a quota.
    """
    together = limits / "cpu.max"
    if together.is_file():
        quota, period = together.read_text().split()
        return int(quota), int(period)
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    first, second = (int((limits / "cpu" / name).read_text()) for name in names)
    return first, second


class Workers:
    """Threads to share the caller's work with.

    Safe for many threads.
    The calling thread works, too, and waits for no thread that has not begun: so work may be
    shared within shared work, and requests that come at once share little.
    """

    def __init__(self, threads: int | None = None) -> None:
        """`threads` counts the caller's; None means one a core."""
        self.threads = threads or count_cores()
        self._pool = ThreadPoolExecutor(max(1, self.threads - 1), "worker")

    def map(
        self, function: Callable[[Part], Done], parts: Sequence[Part], *, alone: bool = False
    ) -> list[Done]:
        """Call a function for each part; return results in order.

        With `alone`, no other thread helps.
        An exception of the function comes out once no thread works on a part any more.
        """
        if alone or self.threads < 2 or len(parts) < 2:
            return [function(part) for part in parts]
        done: dict[int, Done] = {}
        left = iter(range(len(parts)))  # each of its numbers goes to one thread

        def work() -> None:
            for place in left:
                done[place] = function(parts[place])

        helpers = [self._pool.submit(work) for _ in range(min(self.threads, len(parts)) - 1)]
        try:
            work()
        finally:
            begun = [helper for helper in helpers if not helper.cancel()]
            failures = [helper.exception() for helper in begun]
        for failure in failures:
            if failure is not None:
                raise failure
        return [done[place] for place in range(len(parts))]
