"""Progress of imports, in files for services to read.

The notes are informative: a failure to write or read one affects neither the import nor an answer.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from threading import Event, Lock, Thread
from time import time
from uuid import uuid4

from app.imports.sources import ImportOutcome

FOLDER = "imports"  # in the data folder
WRITTEN = 0.2  # seconds between two notes of an import
RENEWED = 30.0  # seconds between two notes of one that has stored nothing
FORGOTTEN = 120.0  # seconds after which an import that wrote no note counts as ended
LONGEST = 10_000  # bytes of a note

log = logging.getLogger(__name__)


def note_progress(
    outcomes: Iterable[ImportOutcome], data: Path, collection: str, count: Callable[[], int]
) -> Generator[ImportOutcome]:
    """Pass an import's outcomes on, and note the number of remaining sources.

    `collection` is the token of a collection. `count` counts all sources, in a thread of its own,
    as a folder may be large, and once something is stored: a folder without a change is read once.
    """
    note = _Note(data / FOLDER / f"{uuid4().hex}.json", collection, count)
    with _log_failures(note.file.parent):
        note.file.parent.mkdir(parents=True, exist_ok=True)
    note.write(0)
    with _log_failures(note.file):
        _start_note(data, collection).unlink(missing_ok=True)
    Thread(target=note.renew, daemon=True).start()
    try:
        for outcome in outcomes:
            note.processed += 1
            if outcome.status == "stored":
                note.storing.set()
            yield outcome
    finally:
        note.close()


@dataclass(slots=True)
class _Note:
    """The note of a running import."""

    file: Path
    collection: str
    count: Callable[[], int]
    processed: int = 0
    storing: Event = field(default_factory=Event)
    _ended: Event = field(default_factory=Event)
    _writing: Lock = field(default_factory=Lock)

    def renew(self) -> None:
        """Write the note again until the import ends."""
        while not self.storing.wait(RENEWED):
            self.write(0)
        if self._ended.is_set():
            return
        try:
            total = self.count()
        except Exception as failed:  # noqa: BLE001 - the import itself says what is wrong
            log.debug("the sources are not counted: %s", failed)
            return
        while not self._ended.is_set():
            self.write(max(total - self.processed, 0))
            self._ended.wait(WRITTEN)

    def write(self, left: int) -> None:
        """Write the number left, unless the import has ended."""
        with self._writing:
            if not self._ended.is_set():
                _write(self.file, self.collection, left)

    def close(self) -> None:
        """Delete the note."""
        with self._writing:
            self._ended.set()
            self.storing.set()
            with _log_failures(self.file):
                self.file.unlink(missing_ok=True)


def note_start(data: Path, collection: str) -> None:
    """Note an import about to start, until it does."""
    file = _start_note(data, collection)
    with _log_failures(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, collection, 0)


def _start_note(data: Path, collection: str) -> Path:
    return data / FOLDER / f"start-{collection}.json"


def is_importing(data: Path, collection: str) -> bool:
    """Return whether an import into a collection runs."""
    return any(_read(file, collection) is not None for file in (data / FOLDER).glob("*.json"))


def count_coming(data: Path, collection: str) -> int:
    """Count the remaining sources of running imports into a collection.

    As far as they are counted.
    """
    folder = data / FOLDER
    for part in folder.glob("*.part"):  # of an import that was killed as it wrote
        with suppress(OSError):
            _forget(part)
    return sum(_read(file, collection) or 0 for file in folder.glob("*.json"))


def _write(file: Path, collection: str, left: int) -> None:
    """Write a note of the number left; ignores a full disk."""
    whole = file.with_suffix(".part")
    with suppress(OSError):
        whole.write_text(json.dumps({"collection": collection, "left": left}), "utf-8")
        whole.replace(file)


def _read(file: Path, collection: str) -> int | None:
    """Read the number left; None for another collection or a damaged note."""
    changed = 0.0
    try:
        status = file.stat()
        changed = status.st_mtime
        if _forget(file):
            return None
        if not S_ISREG(status.st_mode) or status.st_size > LONGEST:  # a pipe has no end
            raise ValueError(f"it is no regular file of up to {LONGEST:,} bytes")
        note = json.loads(file.read_bytes())
        if note["collection"] != collection:
            return None
        left = note["left"]
        if type(left) is not int or left < 0:
            raise ValueError(f"left is {left!r:.50}, not a number from 0")
    except FileNotFoundError:  # the import ended
        return None
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as damaged:
        _log_damage(file, changed, f"{type(damaged).__name__}: {damaged}")
        return None
    return int(left)


def _forget(file: Path) -> bool:
    """Delete the note of an import without an end."""
    forgotten = time() - file.stat().st_mtime > FORGOTTEN
    if forgotten:
        file.unlink(missing_ok=True)
    return forgotten


@lru_cache(maxsize=1000)
def _log_damage(file: Path, changed: float, why: str) -> None:  # noqa: ARG001 - again if it has changed
    """Log a damaged note once, as services ask every second."""
    log.warning("the note %s of an import is damaged and counts for nothing: %s", file, why)


@contextmanager
def _log_failures(place: Path) -> Iterator[None]:
    """Log a failure to write notes; the import goes on."""
    try:
        yield
    except OSError as failed:
        log.warning("the progress of the import is not shown: %s: %s", place, failed)
