"""Verification: the files of published segments are read again and again while they are searched.

A mapped file that changes on the disk makes searches miss rows, and nothing else would notice. One
process a data folder compares all files with their checksums, slowly; a segment that is not as it
was written is marked, so that every process lets go of it and the follower builds it anew.
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
IDLE = 1.0  # seconds between looks where there is nothing to read, or another process does

log = logging.getLogger(__name__)


class Verifier:
    """Verifies the segments below a folder, each about once in so many seconds."""

    def __init__(self, folder: Path, lock: Path, seconds: float) -> None:
        self._folder, self._lock, self._seconds = folder, lock, seconds

    def run(self, stopped: Event) -> None:
        """Verify until told to stop, unless another process does; what fails is logged."""
        while not stopped.wait(IDLE):
            with hold_lock(self._lock) as alone:
                while alone and not stopped.is_set():
                    try:
                        self.verify(stopped)
                    except Exception:
                        log.exception("segments cannot be verified; it is tried again")
                        stopped.wait(IDLE)

    def verify(self, stopped: Event) -> None:
        """Read all published segments once; takes about the time that was set."""
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
    """Rests so that reading has a rate; ends resting where it is told to stop."""

    def __init__(self, rate: float, stopped: Event) -> None:
        self._rate, self._stopped = min(rate, RATE), stopped
        self._read, self._began = 0, time.monotonic()

    def __call__(self, size: int) -> bool:
        """Rest after so many bytes; says whether to go on."""
        self._read += size
        ahead = self._read / self._rate - (time.monotonic() - self._began)
        return not self._stopped.wait(max(ahead, 0.0))


def _read_published(directory: Path) -> tuple[Listed, ...]:
    """The segments that a directory's manifest lists; a broken one is the follower's business."""
    try:
        listed = manifest.read(directory, directory.name)
    except ValueError:
        return ()
    return listed.segments if listed else ()


def _verify(directory: Path, entry: Listed, pace: _ReadingPace) -> None:
    """Mark a segment that is not as it was written, if it is still published."""
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
                log.error("%s is not as it was written: its segment is built anew", folder / name)
                segments.mark_broken(folder)
            return
