"""The commands of upkeep: snapshot, restore, check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.cli.options import Data, plain_errors, settings_for
from index.progress import shown

if TYPE_CHECKING:
    from index.backup import Outcome
    from index.catalog import Catalog
    from index.checks.finding import Finding
    from index.storage import Storage


def snapshot(
    out: Annotated[
        Path | None, typer.Option(help="A new .tar file. [default: a name by the time]")
    ] = None,
    data: Data = None,
) -> None:
    """Write all that is stored into one file, while services go on.

    Example: `tessera snapshot --out /backup/monday.tar`
    """
    settings = settings_for(data=data)
    from index import backup
    from index.backup import Outcome, Snapshots

    with plain_errors(), _opened(settings.storage) as catalog:
        if out is None:
            snapshots = Snapshots(settings.snapshot_folder)
            with shown(Console(stderr=True)) as report:
                stored = snapshots.make(catalog, report)
            file, outcome = snapshots.path(stored.name), Outcome(stored.head, stored.lost)
        else:
            with shown(Console(stderr=True)) as report:
                file, outcome = out, backup.snapshot(catalog, out, report)
    _tell(outcome, f"{file}: {file.stat().st_size:,} bytes")


def restore(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A snapshot.")],
    data: Data = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read and check all of it, restore nothing.")
    ] = False,
) -> None:
    """Put back what a snapshot holds: all of it or, where anything is wrong, nothing.

    Examples: `tessera restore monday.tar --data new`, `tessera restore monday.tar --force`
    """
    settings = settings_for(data=data)
    from index import archives, backup
    from index.following import SEGMENTS

    with plain_errors():
        if verify:
            with shown(Console(stderr=True)) as report:
                outcome = backup.verify(file, report)
        else:
            archives.read_head(file)  # a file that is no snapshot makes no data folder
            with _opened(settings.storage, create=True, accept_loss=force) as catalog:
                with shown(Console(stderr=True)) as report:
                    outcome = backup.restore(catalog, file, settings.data, report, force=force)
                catalog.sweep(settings.data / SEGMENTS)
    _tell(outcome, f"{file} is whole" if verify else f"{file} is restored into {settings.data}")


def check(
    data: Data = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be; restart services afterwards.")
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Go on without acknowledged changes that are gone."),
    ] = False,
) -> None:
    """Check all that is stored by its checksums, and say what is wrong.

    Example: `tessera check --repair`
    """
    settings = settings_for(data=data)
    from index.checks.everything import check as check_everything

    table, left = Table("part", "what", "problem", "repair"), 0
    with plain_errors(), _opened(settings.storage, accept_loss=accept_loss) as catalog:
        with shown(Console(stderr=True)) as report:
            findings = list(check_everything(catalog, settings.data, report))
        for finding in findings:
            outcome = _repaired(finding, repair)
            left += outcome != "done"
            cells = (finding.part, finding.subject, finding.problem, outcome)
            table.add_row(*map(escape, cells))
    if findings:
        Console().print(table)
    typer.echo(f"{len(findings):,} found, {len(findings) - left:,} repaired", err=True)
    if left:
        raise typer.Exit(1)


def _repaired(finding: Finding, repair: bool) -> str:
    if finding.repair is None:
        return "not possible"
    if not repair:
        return "with --repair"
    finding.repair()
    return "done"


@contextmanager
def _opened(
    storage: Storage, *, create: bool = False, accept_loss: bool = False
) -> Iterator[Catalog]:
    """The catalog of a data folder; LookupError where there is none, and none is made."""
    if not create and not storage.database and not storage.folder.is_dir():
        raise LookupError(f"there is no data folder {storage.folder}; name one by --data")
    from index.catalog import Catalog
    from index.database import accept_loss as accept

    if accept_loss:
        accept(storage)
    with closing(Catalog(storage)) as catalog:
        yield catalog


def _tell(outcome: Outcome, where: str) -> None:
    head = outcome.head
    table = Table("collection", "items", "revision", "model", title=f"of {head.made}")
    for held in head.collections:
        cells = (held.name, f"{held.items:,}", f"{held.revision:,}", held.fingerprint)
        table.add_row(*map(escape, cells))
    Console().print(table)
    typer.echo(f"{where}, {head.pictures:,} pictures")
    if outcome.lost:
        typer.echo(
            f"{len(outcome.lost):,} pictures are lost: `tessera check` says which items had them",
            err=True,
        )
