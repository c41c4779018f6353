"""Demonstrations: indexed while the service already answers."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import typer

from app import memory
from app.cli.imports import open_import, print_fault
from app.demos import ALL, Demo
from app.engine.engine import Engine
from app.imports.progress import FOLDER
from app.imports.sources import ImportOutcome, ItemSource
from app.settings import Settings

BATCH = 4  # items stored together: the first can be searched soon


def choose_demo(name: str) -> Demo:
    """The demonstration with a name; ValueError for another name."""
    if name not in ALL:
        raise ValueError(f"no demonstration {name!r}; there are {', '.join(ALL)}")
    return ALL[name]


def list_missing(
    engine: Engine, demo: Demo, settings: Settings
) -> Sequence[ItemSource | ImportOutcome]:
    """List the missing sources of a demonstration.

    All if the collection is empty or incomplete, else none.

    LookupError where a package with its photos is not installed.
    """
    home = engine.open(demo.collection, create=True)
    if engine.catalog.count(home) and not _unfinished(demo, settings).exists():
        return ()
    return demo.sources()


@contextmanager
def index_meanwhile(
    engine: Engine,
    demo: Demo,
    sources: Sequence[ItemSource | ImportOutcome],
    settings: Settings,
    on_end: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Index in a thread, then call `on_end`.

    The end of the block stops it.

    Stored items stay, and the next start continues. The memory of an engine that `on_end` closes is
    released, if nothing else refers to it.
    """
    ended = Event()
    work = [(engine, demo, sources, settings.model_copy(update={"batch": BATCH}), ended, on_end)]
    thread = Thread(target=_index_and_forget, args=(work,), name="demonstration")
    thread.start()
    del engine, on_end
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _index_and_forget(work: list[Any]) -> None:
    """Index, then release memory, including the engine's if it is closed."""
    goes_on = work[0][-1] is None
    _index(*work.pop())
    if not goes_on:
        gc.collect()
    memory.rest()


def _index(
    engine: Engine,
    demo: Demo,
    sources: Sequence[ItemSource | ImportOutcome],
    settings: Settings,
    ended: Event,
    on_end: Callable[[], None] | None,
) -> None:
    try:
        if sources:
            _import(engine, demo, sources, settings, ended)
    except (ValueError, LookupError, OSError) as failed:
        typer.echo(f"error: sample {demo.name} are not indexed whole: {failed}", err=True)
    finally:
        if on_end is not None:
            on_end()


def _import(
    engine: Engine,
    demo: Demo,
    sources: Sequence[ItemSource | ImportOutcome],
    settings: Settings,
    ended: Event,
) -> None:
    typer.echo(f"Indexing {len(sources)} sample {demo.name}; the page shows how many.", err=True)
    unfinished, counts = _unfinished(demo, settings), Counter[str]()
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    unfinished.touch()
    with open_import(
        engine, demo.collection, sources, settings, count=lambda: len(sources)
    ) as outcomes:
        for outcome in outcomes:
            print_fault(outcome)
            counts[outcome.status] += 1
            if ended.is_set():
                return
    with suppress(FileNotFoundError):  # another service did the same
        unfinished.unlink()
    typer.echo(f"{len(sources) - counts['refused']} sample {demo.name} are indexed.", err=True)


def _unfinished(demo: Demo, settings: Settings) -> Path:
    """Return the file with the mark of an incomplete import."""
    return settings.data / FOLDER / f"{demo.name}.unfinished"
