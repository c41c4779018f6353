"""Files written whole or not at all, and mistakes of the disk."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from safetensors import SafetensorError

NUMBER = re.compile(r"os error (\d+)")  # of the system, in a message of safetensors


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a .partial file to write; it becomes `path`.

    A failure removes it. Makes the folder. OSError with the path for a failure of the disk.
    """
    partial = path.with_suffix(".partial")
    with name_in_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            partial.replace(path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Name a path in the disk's errors; full disks lack one."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as failed:
        number = find_number(failed)
        if number is None or (isinstance(failed, OSError) and failed.filename):
            raise
        raise OSError(number, os.strerror(number), str(path)) from failed


def find_number(failed: BaseException) -> int | None:
    """Find the system's number of an error; None for other kinds.

    torch raises a RuntimeError about positions while it handles the file's OSError.
    """
    if isinstance(failed, OSError):
        return failed.errno
    if isinstance(failed, SafetensorError):
        match = NUMBER.search(str(failed))
        return int(match[1]) if match else None
    return failed.__context__.errno if isinstance(failed.__context__, OSError) else None


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with write_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_tensors(path: Path, tensors: object) -> None:
    """Write tensors by torch.save, whole or not at all."""
    # Into a file of Python: torch's own does not say what the disk said.
    with write_whole(path) as partial, partial.open("wb") as file:
        torch.save(tensors, file)
