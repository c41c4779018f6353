"""Changes below folders, as the system tells them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from watchfiles import watch

from app.imports.ignoring import IGNORE_FILE

QUIET = 1_000  # milliseconds without a change after which changes count together

log = logging.getLogger(__name__)


class FolderWatch:
    """Waits for changes below folders.

    Shares on a network tell no changes of other machines, and what is mounted later tells none:
    so a wait has an end.
    """

    def __init__(self, folders: Sequence[Path], ignored: Path) -> None:
        """Changes below `ignored`, such as the data folder, and of hidden files tell nothing."""
        self._folders, self._ignored = folders, ignored.resolve()
        self._changed, self._ended = Event(), Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to watch, again after a failure; forget earlier changes."""
        self._changed.clear()
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._watch, name="watch", daemon=True)
            self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for a change since `start`, at most so long; return whether there was one."""
        return self._changed.wait(seconds)

    def close(self) -> None:
        """End the watch."""
        self._ended.set()

    def _watch(self) -> None:
        there = [folder for folder in self._folders if folder.is_dir()]
        try:
            for _ in watch(
                *there,
                watch_filter=lambda _, path: self._counts(Path(path)),
                step=QUIET,
                stop_event=self._ended,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._changed.set()
        except (OSError, RuntimeError) as failed:
            log.warning("changes of folders are not told, and seen by rescans: %s", failed)

    def _counts(self, path: Path) -> bool:
        """Return whether a change of a path matters to an import."""
        if path.is_relative_to(self._ignored):
            return False
        below = path
        for folder in self._folders:
            with suppress(ValueError):
                below = path.relative_to(folder)
        return path.name == IGNORE_FILE or not any(part.startswith(".") for part in below.parts)
