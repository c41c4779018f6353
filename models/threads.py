"""Workers: threads for the work of a request."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Done = TypeVar("Done")


class Workers:
    """Threads to share the caller's work with.

    Safe for many threads.
    The calling thread works, too, and waits for no thread that has not begun: so work may be
    shared within shared work, and requests that come at once share little.
    """

    def __init__(self, threads: int | None = None) -> None:
        """`threads` counts the caller's; None means one a core."""
        self.threads = threads or len(os.sched_getaffinity(0))
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
