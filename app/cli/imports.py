"""Imports with progress and a tally of outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from time import monotonic

import typer
from rich.console import Console

from app.engine import cluster
from app.engine.engine import Engine
from app.imports import storing
from app.imports.fetching import choose_fetch
from app.imports.folders.reports import ImportReport
from app.imports.photo_decoders import Allowance, Decoders
from app.imports.progress import note_progress
from app.imports.sources import ImportOutcome, ItemSource
from app.settings import Settings
from app.unprintable import escape_unprintable
from index.items import Replaced
from index.progress import follow
from models.vision.formats.video_frames import readable as can_read_videos
from models.vision.photo_decoding import FORMATS

STATUSES = ("stored", "patched", "skipped", "refused")
CHANGES = ("new", "changed", "renamed", "deleted")


@dataclass(slots=True)
class Tally:
    """A report of outcomes, and counts by change."""

    report: ImportReport = field(default_factory=ImportReport)
    changes: Counter[str] = field(default_factory=Counter)
    reason: str = ""  # why a table was not read whole, or a sync deleted nothing

    def add(self, outcome: ImportOutcome) -> None:
        """Count an outcome."""
        self.report.add(outcome)
        self.changes[outcome.change or outcome.status] += 1

    def fail(self, reason: object) -> None:
        """Print the reason for a path not imported whole."""
        self.reason = self.reason or str(reason)
        typer.echo(f"error: {escape_unprintable(str(reason))}", err=True)

    def print(self) -> None:
        """Print the counts of unread kinds and of statuses."""
        if joined := self.counts["joined"]:
            belong = "raw files, Live Photos and sidecars belong to the photo of their name"
            typer.echo(f"{joined:,} {belong}", err=True)
        for unread in sorted(self.report.unread.values(), key=lambda kind: -kind.count):
            example = escape_unprintable(unread.examples[0])
            typer.echo(f"not read: {unread.count:,} {unread.kind}, such as {example}", err=True)
        if any(kind.startswith((".", "files")) for kind in self.report.unread):
            kinds = (*FORMATS, "raw files", *(["videos"] if can_read_videos() else []))
            typer.echo(f"photos are files of {', '.join(kinds)} and PDFs", err=True)
        if any(self.changes[change] for change in CHANGES[1:]):
            changes = ", ".join(f"{self.changes[change]:,} {change}" for change in CHANGES)
            typer.echo(f"# {changes}", err=True)
        shown = [status for status in STATUSES if status != "patched" or self.counts[status]]
        typer.echo(", ".join(f"{self.counts[status]:,} {status}" for status in shown), err=True)

    @property
    def failed(self) -> bool:
        """Whether a path was not imported whole."""
        return bool(self.reason)

    @property
    def counts(self) -> Counter[str]:
        """Counts of outcomes by status."""
        return self.report.counts

    @property
    def changed(self) -> bool:
        """Whether something is not as it was before."""
        return any(self.changes[change] for change in (*CHANGES, "restated"))

    @property
    def in_vain(self) -> bool:
        """Whether there was something, and nothing of it is stored."""
        there = self.counts["stored"] + self.counts["patched"] + self.counts["skipped"]
        return not there and bool(self.counts["refused"] + self.counts["unread"])


def print_fault(outcome: ImportOutcome) -> None:
    """Print a line about a refused source, or one without a part."""
    if outcome.reason and outcome.status in ("refused", "stored"):
        line = f"{outcome.status} {outcome.place}: {outcome.reason}"
        typer.echo(escape_unprintable(line), err=True)


def print_change(outcome: ImportOutcome) -> None:
    """Print a line about a source, unless it is as it was."""
    if outcome.status != "skipped":
        former = f"{outcome.former} -> " if outcome.former else ""
        reason = f": {outcome.reason}" if outcome.reason else ""
        line = f"{outcome.change or outcome.status} {former}{outcome.place}{reason}"
        typer.echo(escape_unprintable(line))


@contextmanager
def open_import(
    engine: Engine,
    collection: str,
    sources: Iterable[ItemSource | ImportOutcome],
    settings: Settings,
    count: Callable[[], int] | None = None,
    *,
    overwrite: bool = False,
) -> Iterator[Iterable[ImportOutcome]]:
    """Import sources, on a cluster if the settings name one; yield outcomes.

    With a way to count the sources, services on the same data show how many remain.
    """
    with Decoders(storing.DECODERS, Allowance.of(settings)) as decode:
        if settings.cluster:
            cluster.check(settings)
            from app.imports import cluster as cluster_import  # needs Ray

            outcomes: Iterable[ImportOutcome] = cluster_import.import_sources(
                engine, collection, sources, settings, overwrite=overwrite
            )
        else:
            outcomes = storing.import_sources(
                engine,
                collection,
                sources,
                batch=settings.batch,
                most_bytes=settings.upload_bytes,
                decode=decode,
                fetch=choose_fetch(settings),
                overwrite=overwrite,
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
    tally: Tally,
    hear: Callable[[ImportOutcome], None] = print_fault,
    count: Callable[[], int] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Import, show the progress, and let every outcome be heard; see `open_import`."""
    before, began = tally.counts["stored"], monotonic()
    with open_import(engine, collection, sources, settings, count, overwrite=overwrite) as outcomes:
        try:
            for outcome in follow(outcomes, None, "Indexing", Console(stderr=True)):
                hear(outcome)
                tally.add(outcome)
        except Replaced as gone:
            stored = f"{tally.counts['stored']:,} were stored before, and what follows is not"
            raise Replaced(f"{gone}: {stored}") from gone
    if embedded := tally.counts["stored"] - before:
        typer.echo(f"{embedded / (monotonic() - began):,.1f} items a second", err=True)
