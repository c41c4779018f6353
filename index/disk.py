"""The disk: what must survive a power cut."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
