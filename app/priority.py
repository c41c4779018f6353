"""The priority of threads of background work."""

from __future__ import annotations

import os
import sys
from threading import get_native_id

# Niceness of imports, in a service and in commands. Less would let searches hold up an import that
# has the database's lock, and changes wait for it.
BACKGROUND = 10


def lower(nice: int) -> None:
    """Lower the priority of this thread and its children, on Linux only.

    A niceness of 0 leaves it as it is, and so does one that is lower already: to raise a priority
    takes a privilege.
    """
    if nice and sys.platform == "linux":
        thread = get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(nice, os.getpriority(os.PRIO_PROCESS, thread)))
