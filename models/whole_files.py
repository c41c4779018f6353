"""Files written whole or not at all, and mistakes of the disk."""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from safetensors import SafetensorError

BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)  # what a damaged .gz raises
# Names of open files: what they are redirected to is not replaced.
DESCRIPTORS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
NUMBER = re.compile(r"os error (\d+)")  # of the system, in a message of safetensors


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a .partial file to write; it becomes `path`.

    A failure removes it. Makes the folder. A link stays one: its target is replaced. A pipe or a
    device is given itself. OSError with the path for a failure of the disk.
    """
    with name_in_errors(path):
        if is_stream(path):
            yield path
            return
        target = Path(os.path.realpath(path))
        partial = target.with_name(f"{target.name}.partial")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            partial.replace(target)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


def is_stream(path: Path) -> bool:
    """Whether a path is a pipe, a device or an open file."""
    return path.exists() and (not path.is_file() or str(path).startswith(DESCRIPTORS))


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Name a path in the disk's errors; full disks lack one."""
    handled = sys.exception()
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as failed:
        number = find_number(failed, handled)
        if number is None or (isinstance(failed, OSError) and failed.filename):
            raise
        raise OSError(number, os.strerror(number), str(path)) from failed


def find_number(failed: BaseException, handled: BaseException | None = None) -> int | None:
    """Find the system's number of an error; None for other kinds.

    torch raises a RuntimeError about positions while it handles the file's OSError. `handled` is
    the error that was handled before, which is not its cause.
    """
    if isinstance(failed, OSError):
        return failed.errno
    if isinstance(failed, SafetensorError):
        match = NUMBER.search(str(failed))
        return int(match[1]) if match else None
    cause = failed.__context__
    return cause.errno if isinstance(cause, OSError) and cause is not handled else None


def write_text(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with write_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_tensors(path: Path, tensors: object) -> None:
    """Write tensors by torch.save, whole or not at all."""
    import torch  # takes seconds, and texts need none of it

    # Into a file of Python: torch's own does not say what the disk said.
    with write_whole(path) as partial, partial.open("wb") as file:
        torch.save(tensors, file)
