"""The priority of threads of background work."""

from __future__ import annotations

import os
import sys
from threading import get_native_id

BACKGROUND = 10  # niceness of imports within a service: its searches can wait for their locks
LOWEST = 19  # niceness of imports in processes of their own


def lower(nice: int) -> None:
    """Lower the priority of this thread and its children, on Linux only.

    A niceness of 0 leaves it as it is, and so does one that is lower already: to raise a priority
    takes a privilege.
    """
    if nice and sys.platform == "linux":
        thread = get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(nice, os.getpriority(os.PRIO_PROCESS, thread)))
