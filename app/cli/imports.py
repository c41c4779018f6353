"""Imports with progress, of folders, files and tables of products."""

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
from app.imports.fetching import Fetcher, refuse
from app.imports.folder import ImportOutcome, ItemSource
from app.imports.photo_decoders import Allowance, Decoders
from app.imports.progress import note_progress
from app.settings import Settings
from index.items import Replaced
from index.progress import follow


def print_refusal(outcome: ImportOutcome) -> None:
    """Print a line about a refused source."""
    if outcome.status == "refused":
        typer.echo(f"refused {outcome.place}: {outcome.reason}", err=True)


@contextmanager
def open_import(
    engine: Engine,
    collection: str,
    sources: Iterable[ItemSource | ImportOutcome],
    settings: Settings,
    count: Callable[[], int] | None = None,
) -> Iterator[Iterable[ImportOutcome]]:
    """Import sources, on a cluster if the settings name one; yield outcomes.

    With a way to count the sources, services on the same data show how many remain.
    """
    with Decoders(folder.DECODERS, Allowance.of(settings)) as decode:
        if settings.cluster:
            cluster.check(settings)
            from app.imports import cluster as cluster_import  # needs Ray

            outcomes: Iterable[ImportOutcome] = cluster_import.import_sources(
                engine, collection, sources, settings
            )
        else:
            outcomes = folder.import_sources(
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
        with closing(note_progress(outcomes, settings.data, home.token, count)) as counted:
            yield counted


def import_with_progress(
    engine: Engine,
    collection: str,
    sources: Iterable[ItemSource | ImportOutcome],
    settings: Settings,
    hear: Callable[[ImportOutcome], None] = print_refusal,
    count: Callable[[], int] | None = None,
) -> Counter[str]:
    """Import, show the progress, and let every outcome be heard; see `open_import`."""
    counts, began = Counter[str](), monotonic()
    with open_import(engine, collection, sources, settings, count) as outcomes:
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
    """Import a table.

    It prints the columns first, and writes refused rows to a file.
    """
    refused = refused or file.with_name(f"{file.name}.refused.jsonl")
    refused.unlink(missing_ok=True)  # of an earlier import
    with tables.open_table(file, mapping) as table:
        typer.echo(f"# {file}: {len(table.header)} columns, taken for", err=True)
        typer.echo(table.columns.to_toml(), err=True)
        for note in table.notes:
            typer.echo(f"# {note}", err=True)

        def hear(outcome: ImportOutcome) -> None:
            number = table.take_number(outcome)
            if outcome.status == "refused":
                record = {"row": number, "reason": outcome.reason}
                with refused.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(record, ensure_ascii=True) + "\n")

        def count() -> int:
            with tables.open_table(file, mapping) as counted:
                return sum(1 for _ in counted.sources())

        counts = import_with_progress(engine, collection, table.sources(), settings, hear, count)
    if counts["refused"]:
        typer.echo(f"{counts['refused']:,} rows are refused, and why: {refused}", err=True)
    if table.end:
        raise ValueError(f"{file}: {table.end}")
    return counts
