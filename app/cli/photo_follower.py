"""A child process to index folders of photos and their changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from models.rooms import PREFIX


class PhotoFollower:
    """Indexes photos at a lower priority, with one matcher and later another."""

    def __init__(self, photos: Sequence[str], data: Path, rescan: float) -> None:
        self._photos, self._data, self._rescan = photos, data, rescan
        self._child: subprocess.Popen[bytes] | None = None
        self._lock, self._ended = Lock(), False

    def start(self, matcher: Path) -> None:
        """Index with a matcher from now on, instead of any other."""
        options = ("--watch", "--rescan", str(self._rescan), "--parent", str(os.getpid()))
        command = [sys.executable, "-m", f"{PREFIX}tessera", "index", *self._photos, *options]
        command += ["--data", str(self._data)]
        with self._lock:
            self._stop()
            if self._photos and not self._ended:
                environment = os.environ | {"TESSERA_MATCHER": str(matcher)}
                self._child = subprocess.Popen(command, env=environment)  # noqa: S603 - our own

    def end(self) -> None:
        """Stop for good."""
        with self._lock:
            self._ended = True
            self._stop()

    def _stop(self) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child.wait()


@contextmanager
def follow_photos(
    photos: Sequence[str], collection: str, data: Path, matcher: Path, rescan: float
) -> Iterator[PhotoFollower]:
    """Index photos into a collection, named by its token, within the context."""
    from app.imports.progress import note_start

    if photos:
        note_start(data, collection)
    follower = PhotoFollower(photos, data, rescan)
    follower.start(matcher)
    try:
        yield follower
    finally:
        follower.end()
