"""The disk: durable files and notes, locks, and full disks."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from uuid import uuid4

PROBE = b"\0" * 2**16

logger = logging.getLogger("tessera")


def sync(path: Path) -> None:
    """Make a file, or a folder's names, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def try_writing(folder: Path) -> None:
    """Write and delete a small file in a folder, or raise OSError."""
    with TemporaryFile(dir=folder) as file:
        file.write(PROBE)
        file.flush()
        os.fsync(file.fileno())


def provide_temporary_folder(data: Path) -> None:
    """Use a folder in the data folder if no other one for temporary files can be written to.

    Containers with a read-only root may have none. Child processes use the same.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError as none:
        folder = data.resolve() / "temporary"
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["TMPDIR"] = str(folder)
        logger.warning("%s; temporary files are in %s", none.strerror or none, folder)


def is_full(error: OSError) -> bool:
    """Return whether a full disk, or a quota, caused an error."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def hold_lock(path: Path, *, shared: bool = False, wait: bool = False) -> Iterator[bool]:
    """Hold the lock of a file, made if missing.

    Yields False if others hold it.
    The operating system releases it when the process ends in any way.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def read_note(path: Path) -> bytes | None:
    """Read a small file; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_note(path: Path, content: bytes, *, new: bool = False) -> bool:
    """Write a small file atomically and durably.

    With `new`, an existing file stays as it is, and False is returned.
    """
    partial = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not new:
            partial.replace(path)
        elif not _link(partial, path):
            return False
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)
    return True


def _link(partial: Path, path: Path) -> bool:
    """Rename a file to a free name; return whether it was."""
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        return False
    except OSError:  # a file system without links, such as those of SMB
        if path.exists():
            return False
        partial.rename(path)
    return True
