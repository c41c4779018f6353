"""Imports with their progress shown: of folders and files, and of tables of products."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import typer
from rich.console import Console

from app.engine import cluster
from app.engine.engine import Engine
from app.imports import folder, tables
from app.imports.decoders import Allowance, Decoders
from app.imports.fetching import Fetcher, refuse
from app.imports.folder import Outcome, Source
from app.imports.progress import noted
from app.settings import Settings
from index.items import Replaced
from index.progress import follow


def tell(outcome: Outcome) -> None:
    """A line for a source that is refused."""
    if outcome.status == "refused":
        typer.echo(f"refused {outcome.place}: {outcome.reason}", err=True)


@contextmanager
def opened_import(
    engine: Engine,
    collection: str,
    sources: Iterable[Source | Outcome],
    settings: Settings,
    count: Callable[[], int] | None = None,
) -> Iterator[Iterable[Outcome]]:
    """An import, on a cluster if the settings name one, as a stream of what became of each source.

    With a way to count the sources, services on the same data tell how many are yet to come.
    """
    with Decoders(folder.DECODERS, Allowance.of(settings)) as decode:
        if settings.cluster:
            cluster.check(settings)
            from app.imports import cluster as cluster_import  # needs Ray

            outcomes: Iterable[Outcome] = cluster_import.bring_in(
                engine, collection, sources, settings
            )
        else:
            outcomes = folder.bring_in(
                engine,
                collection,
                sources,
                batch=settings.batch,
                most_bytes=settings.upload_bytes,
                decode=decode,
                fetch=Fetcher(settings.upload_bytes).fetch if settings.fetch else refuse,
            )
        if count is None:
            yield outcomes
            return
        home = engine.open(collection, create=True)
        with closing(noted(outcomes, settings.data, home.token, count)) as counted:
            yield counted


def import_with_progress(
    engine: Engine,
    collection: str,
    sources: Iterable[Source | Outcome],
    settings: Settings,
    hear: Callable[[Outcome], None] = tell,
    count: Callable[[], int] | None = None,
) -> Counter[str]:
    """Import, show the progress, and let every outcome be heard; see `opened_import`."""
    counts, began = Counter[str](), monotonic()
    with opened_import(engine, collection, sources, settings, count) as outcomes:
        try:
            for outcome in follow(outcomes, None, "Indexing", Console(stderr=True)):
                hear(outcome)
                counts[outcome.status] += 1
        except Replaced as gone:
            stored = f"{counts['stored']:,} were stored before, and what follows is not"
            raise Replaced(f"{gone}: {stored}") from gone
    if counts["stored"]:
        typer.echo(f"{counts['stored'] / (monotonic() - began):,.1f} items a second", err=True)
    return counts


def import_table(
    engine: Engine,
    collection: str,
    file: Path,
    mapping: Mapping[str, Any],
    refused: Path | None,
    settings: Settings,
) -> Counter[str]:
    """Import a table: its columns are told first, and refused rows are written to a file."""
    refused = refused or file.with_name(f"{file.name}.refused.jsonl")
    refused.unlink(missing_ok=True)  # of an earlier import
    with tables.opened(file, mapping) as table:
        typer.echo(f"# {file}: {len(table.header)} columns, taken for", err=True)
        typer.echo(table.columns.toml(), err=True)
        for note in table.notes:
            typer.echo(f"# {note}", err=True)

        def hear(outcome: Outcome) -> None:
            number = table.number_of(outcome)
            if outcome.status == "refused":
                record = {"row": number, "reason": outcome.reason}
                with refused.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(record, ensure_ascii=True) + "\n")

        def count() -> int:
            with tables.opened(file, mapping) as counted:
                return sum(1 for _ in counted.sources())

        counts = import_with_progress(engine, collection, table.sources(), settings, hear, count)
    if counts["refused"]:
        typer.echo(f"{counts['refused']:,} rows are refused, and why: {refused}", err=True)
    if table.end:
        raise ValueError(f"{file}: {table.end}")
    return counts
