"""Regular files, opened without waiting, and read within a limit."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from models.vision.photo_decoding import too_many_bytes

NO_FILE = "this is no regular file"


@contextmanager
def open_regular(
    file: Path | str | bytes, most_bytes: int | None = None
) -> Iterator[BufferedReader]:
    """Open a regular file without waiting, even for a pipe.

    ValueError for another kind of file; ImageTooLarge, before it is read, over a limit.
    """
    with open(file, "rb", opener=_open_at_once) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(NO_FILE)
        if most_bytes is not None and status.st_size > most_bytes:
            raise too_many_bytes(status.st_size, most_bytes)
        yield opened


def read_regular(file: Path, most_bytes: int) -> bytes:
    """Read a regular file; errors are those of `open_regular`."""
    with open_regular(file, most_bytes) as opened:
        return opened.read(most_bytes + 1)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
