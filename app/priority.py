"""Priority of work that nobody waits for: searches come first."""

from __future__ import annotations

import os
import sys
from threading import get_native_id

BACKGROUND = 10  # niceness of imports, in a service and in commands


def lower(nice: int) -> None:
    """Lower the priority of this thread, and of those that it starts; only Linux can."""
    if nice and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), nice)
