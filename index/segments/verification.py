"""Verification: files of published segments are read repeatedly, to find damage.

If a mapped file changes on the disk, searches miss rows, and nothing else would notice. One
process for each data folder compares all files with their checksums, slowly, and marks damaged
segments, so that every process closes them and the follower builds them again.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Event

from index.disk import hold_lock
from index.segments import manifest
from index.segments import segment as segments
from index.segments.manifest import Listed

LOCK = "verification.lock"
RATE = 100_000_000  # bytes a second, at most
PIECE = 2**20  # bytes that are read at a time
IDLE = 1.0  # seconds between looks without work, or while another process verifies

log = logging.getLogger(__name__)


class Verifier:
    """Verifies the segments below a folder, each about once in `seconds`."""

    def __init__(self, folder: Path, lock: Path, seconds: float) -> None:
        self._folder, self._lock, self._seconds = folder, lock, seconds

    def run(self, stopped: Event) -> None:
        """Verify until stopped, unless another process does; failures are logged."""
        while not stopped.wait(IDLE):
            try:
                with hold_lock(self._lock) as alone:
                    while alone and not stopped.is_set():
                        self.verify(stopped)
            except (
                FileNotFoundError
            ):  # nothing is kept in the folder, as where shards are elsewhere
                continue
            except Exception:
                log.exception("segments cannot be verified; it is tried again")

    def verify(self, stopped: Event) -> None:
        """Read all published segments once, in about the time that is set."""
        chosen = [
            (directory, entry)
            for directory in sorted(self._folder.glob("*"))
            for entry in _read_published(directory)
            if not (directory / entry.folder / segments.BROKEN).exists()
        ]
        total = sum(size for _, entry in chosen for size, _ in entry.sums.values())
        pace = _ReadingPace(max(total / self._seconds, 1.0), stopped)
        for directory, entry in chosen:
            if not stopped.is_set():
                _verify(directory, entry, pace)
        if not total:
            stopped.wait(IDLE)


class _ReadingPace:
    """Pauses that limit the rate of reading; they end when stopped."""

    def __init__(self, rate: float, stopped: Event) -> None:
        self._rate, self._stopped = min(rate, RATE), stopped
        self._read, self._began = 0, time.monotonic()

    def __call__(self, size: int) -> bool:
        """Pause after reading some bytes; return whether to continue."""
        self._read += size
        ahead = self._read / self._rate - (time.monotonic() - self._began)
        return not self._stopped.wait(max(ahead, 0.0))


def _read_published(directory: Path) -> tuple[Listed, ...]:
    """Read a manifest's segments; the follower handles a broken manifest."""
    try:
        listed = manifest.read(directory, directory.name)
    except ValueError:
        return ()
    return listed.segments if listed else ()


def _verify(directory: Path, entry: Listed, pace: _ReadingPace) -> None:
    """Mark a damaged segment, if it is still published."""
    folder = directory / entry.folder
    for name, (size, expected) in entry.sums.items():
        try:
            digest = segments.checksum_slowly(folder / name, PIECE, pace)
            if digest is None:
                return
            sound = digest == expected and (folder / name).stat().st_size == size
        except OSError as failed:  # merged away meanwhile, or a disk that fails
            log.warning("%s cannot be read: %s", folder / name, failed)
            sound = False
        if not sound:
            if entry in _read_published(directory):
                log.error("%s is not as it was written: its segment is built again", folder / name)
                segments.mark_broken(folder)
            return
