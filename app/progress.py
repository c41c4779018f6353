"""Progress of imports: how much running ones still have to bring, in files that services read."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from time import time
from uuid import uuid4

from app.folder import Outcome

FOLDER = "imports"  # in the data folder
WRITTEN = 0.2  # seconds between two notes of an import
FORGOTTEN = 120.0  # seconds after which an import that noted nothing counts as ended


def noted(
    outcomes: Iterable[Outcome], data: Path, collection: str, count: Callable[[], int]
) -> Generator[Outcome]:
    """Pass an import's outcomes on, and note how many sources it still has to bring.

    `collection` is the token of a collection. `count` counts all of its sources; that is done
    meanwhile, as a folder may be large.
    """
    file = data / FOLDER / f"{uuid4().hex}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    processed, ended, writing = 0, Event(), Lock()

    def note() -> None:
        total = count()
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
            file.unlink(missing_ok=True)


def coming(data: Path, collection: str) -> int:
    """How many sources running imports still have to bring to the collection of a token.

    As far as they are counted.
    """
    return sum(_read(file, collection) for file in (data / FOLDER).glob("*.json"))


def _write(file: Path, collection: str, left: int) -> None:
    """Note what is left; a full disk is no reason to end an import."""
    whole = file.with_suffix(".part")
    with suppress(OSError):
        whole.write_text(json.dumps({"collection": collection, "left": left}), "utf-8")
        whole.replace(file)


def _read(file: Path, collection: str) -> int:
    """What an import has left; 0 for one of another collection, or that ended as it wrote."""
    try:
        if time() - file.stat().st_mtime > FORGOTTEN:
            file.unlink(missing_ok=True)
            return 0
        note = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return 0
    return int(note["left"]) if note["collection"] == collection else 0
