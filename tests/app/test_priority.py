"""Background work leaves the processor to searches."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import get_native_id

import pytest

from app import priority


def niceness() -> int:
    """Of this thread alone."""
    return os.getpriority(os.PRIO_PROCESS, get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux alone")
def test_a_thread_lowers_its_own_priority_and_that_of_threads_that_it_starts() -> None:
    before = niceness()

    def lowered() -> tuple[int, int]:
        priority.lower(priority.BACKGROUND)
        with ThreadPoolExecutor(1) as started:
            return niceness(), started.submit(niceness).result()

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lowered).result() == (priority.BACKGROUND, priority.BACKGROUND)
    assert niceness() == before


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux alone")
@pytest.mark.parametrize("before", [15, 19])
def test_a_priority_that_is_lower_already_is_not_raised(before: int) -> None:
    def lowered() -> int:
        os.setpriority(os.PRIO_PROCESS, get_native_id(), before)
        priority.lower(priority.BACKGROUND)
        return niceness()

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(lowered).result() == before
