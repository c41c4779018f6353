"""The disk: what must survive a power cut, and whether there is room."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryFile

PROBE = b"\0" * 2**16


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def try_writing(folder: Path) -> None:
    """Write a little into a folder and leave nothing there; OSError where that fails."""
    with TemporaryFile(dir=folder) as file:
        file.write(PROBE)
        file.flush()
        os.fsync(file.fileno())


def is_full(error: OSError) -> bool:
    """Whether a disk without room, or a quota, is what is wrong."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
