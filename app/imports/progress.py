"""Progress of imports, in files for services to read.

The notes are informative: a failure to write or read one affects neither the import nor an answer.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from threading import Event, Lock, Thread
from time import time
from uuid import uuid4

from app.imports.sources import ImportOutcome

FOLDER = "imports"  # in the data folder
WRITTEN = 0.2  # seconds between two notes of an import
FORGOTTEN = 120.0  # seconds after which an import that wrote no note counts as ended
LONGEST = 10_000  # bytes of a note

log = logging.getLogger(__name__)


def note_progress(
    outcomes: Iterable[ImportOutcome], data: Path, collection: str, count: Callable[[], int]
) -> Generator[ImportOutcome]:
    """Pass an import's outcomes on, and note the number of remaining sources.

    `collection` is the token of a collection. `count` counts all sources, in a thread of its own,
    as a folder may be large.
    """
    file = data / FOLDER / f"{uuid4().hex}.json"
    with _log_failures(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    processed, ended, writing = 0, Event(), Lock()

    def note() -> None:
        try:
            total = count()
        except Exception as failed:  # noqa: BLE001 - the import itself says what is wrong
            log.debug("the sources are not counted: %s", failed)
            return
        while not ended.is_set():
            with writing:
                if not ended.is_set():
                    _write(file, collection, max(total - processed, 0))
            ended.wait(WRITTEN)

    Thread(target=note, daemon=True).start()
    try:
        for outcome in outcomes:
            processed += 1
            yield outcome
    finally:
        with writing:
            ended.set()
            with _log_failures(file):
                file.unlink(missing_ok=True)


def count_coming(data: Path, collection: str) -> int:
    """Count the remaining sources of running imports into a collection.

    As far as they are counted.
    """
    folder = data / FOLDER
    for part in folder.glob("*.part"):  # of an import that was killed as it wrote
        with suppress(OSError):
            _forget(part)
    return sum(_read(file, collection) for file in folder.glob("*.json"))


def _write(file: Path, collection: str, left: int) -> None:
    """Write a note of the number left; ignores a full disk."""
    whole = file.with_suffix(".part")
    with suppress(OSError):
        whole.write_text(json.dumps({"collection": collection, "left": left}), "utf-8")
        whole.replace(file)


def _read(file: Path, collection: str) -> int:
    """Read the number left; 0 for another collection or a damaged note."""
    changed = 0.0
    try:
        status = file.stat()
        changed = status.st_mtime
        if _forget(file):
            return 0
        if not S_ISREG(status.st_mode) or status.st_size > LONGEST:  # a pipe has no end
            raise ValueError(f"it is no regular file of up to {LONGEST:,} bytes")
        note = json.loads(file.read_bytes())
        left = note["left"] if note["collection"] == collection else 0
        if type(left) is not int or left < 0:
            raise ValueError(f"left is {left!r:.50}, not a number from 0")
    except FileNotFoundError:  # the import ended
        return 0
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as damaged:
        _log_damage(file, changed, f"{type(damaged).__name__}: {damaged}")
        return 0
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
