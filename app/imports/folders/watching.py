"""Changes below folders, as the system tells them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from watchfiles import watch

from app.imports.folders.ignoring import IGNORE_FILE

QUIET = 1_000  # milliseconds without a change after which changes count together
LOOKED_UP = 5.0  # seconds between two looks for the parent, and for what is due

log = logging.getLogger(__name__)


class FolderWatch:
    """Waits for changes below folders.

    Shares on a network tell no changes of other machines, and what is mounted later tells none:
    so a wait has an end.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        ignored: Path,
        parent: int | None = None,
        is_due: Callable[[], bool] = lambda: False,
    ) -> None:
        """Changes below `ignored` and of hidden files tell nothing.

        With a `parent`, waits end once it is no longer the parent of this process. Once `is_due`,
        this counts as a change.
        """
        self._folders, self._ignored, self._parent = folders, ignored.resolve(), parent
        self._is_due = is_due
        self._changed, self._ended = Event(), Event()
        self._watched: list[tuple[int, int] | None] = []
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to watch, or go on; forget earlier changes.

        It begins again after a failure, and where a folder was replaced, came or was mounted: the
        system tells changes of the former one.
        """
        self._changed.clear()
        if self._thread is None or not self._thread.is_alive() or self._replaced:
            self._ended.set()  # of the former watch
            self._watched, self._ended = [*map(_identify, self._folders)], Event()
            self._thread = Thread(
                target=self._watch, args=(self._ended,), name="watch", daemon=True
            )
            self._thread.start()

    @property
    def orphaned(self) -> bool:
        """Whether the parent of this process has ended."""
        return self._parent is not None and os.getppid() != self._parent

    @property
    def _replaced(self) -> bool:
        """Whether a folder differs from the watched one."""
        return [*map(_identify, self._folders)] != self._watched

    def wait(self, seconds: float, rest: float = 0) -> bool:
        """Wait for a change since `start`, at most so long.

        Returns whether there was one: a replaced folder is one, too. A change within `rest` seconds
        counts after them.
        """
        began = monotonic()
        while (left := began + seconds - monotonic()) > 0 and not self.orphaned:
            resting = min(rest, seconds) - (monotonic() - began)
            if resting > 0:
                self._ended.wait(min(resting, LOOKED_UP))
            elif self._changed.wait(min(left, LOOKED_UP)) or self._replaced or self._is_due():
                return True
        return False

    def close(self) -> None:
        """End the watch."""
        self._ended.set()

    def _watch(self, ended: Event) -> None:
        folders = [folder for folder in self._folders if folder.is_dir()]
        try:
            for _ in watch(
                *folders,
                watch_filter=lambda _, path: self._counts(Path(path)),
                step=QUIET,
                stop_event=ended,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._changed.set()
        except (OSError, RuntimeError) as failed:
            log.warning("changes of folders are not told, and seen by rescans: %s", failed)

    def _counts(self, path: Path) -> bool:
        """Return whether a change of a path matters to an import."""
        folder = next((each for each in self._folders if path.is_relative_to(each)), path.parent)
        inside = self._ignored.is_relative_to(folder)  # or all of the folder would be left out
        if inside and path.is_relative_to(self._ignored):
            return False
        parts = path.relative_to(folder).parts
        return path.name == IGNORE_FILE or not any(part.startswith(".") for part in parts)


def _identify(folder: Path) -> tuple[int, int] | None:
    """Return a folder's device and number; None if it is missing."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
