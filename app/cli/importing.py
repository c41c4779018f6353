"""Imports with a bar on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import typer
from rich.console import Console
from rich.progress import track

from app import folder
from app.decoding.pool import Allowance, Decoders
from app.engine import Engine
from app.folder import Outcome, Source
from app.progress import noted
from app.settings import Settings


def import_with_bar(
    engine: Engine,
    collection: str,
    sources: Iterable[Source | Outcome],
    settings: Settings,
    count: Callable[[], int] | None = None,
) -> Counter[str]:
    """Import with a bar on the terminal, and a line for each source that is refused.

    With a way to count the sources, services on the same data tell how many are yet to come.
    """
    with Decoders(folder.DECODERS, Allowance.of(settings)) as decode:
        outcomes: Iterable[Outcome] = folder.bring_in(
            engine,
            collection,
            sources,
            batch=settings.batch,
            most_bytes=settings.upload_bytes,
            decode=decode,
        )
        if count is not None:
            home = engine.open(collection, create=True)
            outcomes = noted(outcomes, settings.data, home.name, count)
        console = Console(stderr=True)
        if console.is_terminal:
            total = len(sources) if isinstance(sources, Sequence) else None  # a stream has none
            outcomes = track(outcomes, "Indexing", total=total, console=console)
        return Counter(_status(outcome) for outcome in outcomes)


def _status(outcome: Outcome) -> str:
    if outcome.status == "refused":
        typer.echo(f"refused {outcome.place}: {outcome.reason}", err=True)
    return outcome.status
