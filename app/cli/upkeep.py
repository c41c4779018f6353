"""The commands of upkeep: snapshot, restore, check, sweep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from app.cli.options import Adopt, Data, plain_errors, settings_for
from index import printing
from index.progress import show

if TYPE_CHECKING:
    from index.backup.checks.finding import CheckFinding
    from index.backup.snapshots import SnapshotOutcome
    from index.catalog.catalog import Catalog
    from index.catalog.ownership import OwnershipClaim
    from index.database.storage import Storage


SHOWN = 20  # names of pictures that a dry run prints


def snapshot(
    out: Annotated[
        Path | None, typer.Option(help="A new .tar file.", show_default="a name by the time")
    ] = None,
    data: Data = None,
) -> None:
    """Write everything into one file, while services go on.

    Example: `tessera snapshot --out /backup/monday.tar`
    """
    settings = settings_for(data=data)
    from index.backup import snapshots as backup
    from index.backup.snapshot_folder import Snapshots
    from index.backup.snapshots import SnapshotOutcome

    with plain_errors(), _open_catalog(settings.storage) as catalog:
        if out is None:
            snapshots = Snapshots(settings.snapshot_folder)
            with show(Console(stderr=True)) as report:
                stored = snapshots.make(catalog, report)
            file, outcome = snapshots.path(stored.name), SnapshotOutcome(stored.head, stored.lost)
        else:
            with show(Console(stderr=True)) as report:
                file, outcome = out, backup.snapshot(catalog, out, report)
    _print_outcome(outcome, f"{file}: {file.stat().st_size:,} bytes")


def restore(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A snapshot.")],
    data: Data = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the items of the data folder.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read and check the snapshot; restore nothing.")
    ] = False,
    adopt_pictures: Adopt = False,
) -> None:
    """Restore a whole snapshot, or nothing if it is damaged.

    Examples: `tessera restore monday.tar --data new`, `tessera restore monday.tar --force`
    """
    settings = settings_for(data=data)
    from index.backup import archive as archives
    from index.backup import snapshots as backup
    from index.catalog.ownership import ADOPTING, OwnershipClaim
    from index.segments.follower_process import SEGMENTS

    with plain_errors():
        if verify:
            with show(Console(stderr=True)) as report:
                outcome = backup.verify(file, report)
        else:
            head = archives.read_head(file)  # a file that is no snapshot makes no data folder
            backup.refuse_occupied(settings.storage, force=force)
            claim = ADOPTING if adopt_pictures else OwnershipClaim(origin=head.catalog)
            with _open_catalog(settings.storage, claim, create=True, accept_loss=force) as catalog:
                with show(Console(stderr=True)) as report:
                    outcome = backup.restore(catalog, file, settings.data, report, force=force)
                catalog.sweep(settings.data / SEGMENTS)
    _print_outcome(
        outcome, f"{file} is whole" if verify else f"{file} is restored into {settings.data}"
    )


def check(
    data: Data = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Repair as much as possible; restart services afterwards."),
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Go on without acknowledged changes that are gone."),
    ] = False,
) -> None:
    """Check everything in storage by its checksums, and print problems.

    Example: `tessera check --repair`
    """
    settings = settings_for(data=data)
    from index.backup.checks.everything import check as check_everything
    from index.catalog.ownership import TELL

    table, left = printing.make_table("part", "what", "problem", "repair"), 0
    with plain_errors(), _open_catalog(settings.storage, TELL, accept_loss=accept_loss) as catalog:
        with show(Console(stderr=True)) as report:
            findings = list(check_everything(catalog, settings.data, report))
        for finding in findings:
            outcome = _repair(finding, repair)
            left += outcome != "done"
            cells = (finding.part, finding.subject, finding.problem, outcome)
            table.add_row(*map(escape, cells))
    if findings:
        printing.print_out(table)
    typer.echo(f"{len(findings):,} found, {len(findings) - left:,} repaired", err=True)
    if left:
        raise typer.Exit(1)


def sweep(
    data: Data = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the pictures and name some; delete nothing.")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Delete even more than a tenth of the pictures.")
    ] = False,
    adopt_pictures: Adopt = False,
) -> None:
    """Delete unused pictures and files, as a service does every hour.

    Pictures go that no item has had for TESSERA_SWEEP_AFTER seconds, counted from when a service
    or this command first saw it.

    Example: `tessera sweep --dry-run`
    """
    settings = settings_for(data=data)
    from index.catalog.ownership import ADOPTING, REFUSE
    from index.catalog.sweeping import SHARE
    from index.segments.follower_process import SEGMENTS

    share = 1.0 if all_ else SHARE
    with (
        plain_errors(),
        _open_catalog(settings.storage, ADOPTING if adopt_pictures else REFUSE) as catalog,
    ):
        if dry_run:
            swept = catalog.preview_sweep(share)
        else:
            swept = catalog.sweep(settings.data / SEGMENTS, share)
    done = "to delete" if dry_run else "deleted"
    count = len(swept.due) if dry_run else swept.deleted
    for name in swept.due[:SHOWN] if dry_run else ():
        typer.echo(name)
    typer.echo(
        f"{swept.pictures:,} pictures, {swept.unnamed:,} that no item has, {len(swept.due):,} of "
        f"them for {settings.sweep_after:,} seconds or more; {0 if swept.withheld else count:,} "
        f"{done}",
        err=True,
    )
    if swept.withheld and swept.due:
        typer.echo(
            f"nothing {'would be' if dry_run else 'was'} deleted, as that is a large share: make "
            "sure that this is the right database and picture store, then add --all",
            err=True,
        )


def _repair(finding: CheckFinding, repair: bool) -> str:
    if finding.repair is None:
        return "not possible"
    if not repair:
        return "with --repair"
    finding.repair()
    return finding.left or "done"


@contextmanager
def _open_catalog(
    storage: Storage,
    claim: OwnershipClaim | None = None,
    *,
    create: bool = False,
    accept_loss: bool = False,
) -> Iterator[Catalog]:
    """Open the catalog of a data folder; LookupError for a missing folder."""
    if not create and not storage.database and not storage.folder.is_dir():
        raise LookupError(f"there is no data folder {storage.folder}; name one by --data")
    from index.catalog.catalog import Catalog
    from index.catalog.ownership import REFUSE
    from index.database.engines import accept_loss as accept

    if accept_loss:
        accept(storage)
    with closing(Catalog(storage, claim=claim or REFUSE)) as catalog:
        yield catalog


def _print_outcome(outcome: SnapshotOutcome, where: str) -> None:
    head = outcome.head
    table = printing.make_table("collection", "items", "revision", "model", title=f"of {head.made}")
    for held in head.collections:
        cells = (held.name, f"{held.items:,}", f"{held.revision:,}", held.fingerprint)
        table.add_row(*map(escape, cells))
    printing.print_out(table)
    typer.echo(f"{where}, {head.pictures:,} pictures")
    if outcome.lost:
        typer.echo(
            f"{len(outcome.lost):,} pictures are lost: `tessera check` says which items had them",
            err=True,
        )


def migrate(data: Data = None) -> None:
    """Upgrade the tables of the database to the version of this Tessera.

    A new database and SQLite need no command; services on PostgreSQL are restarted afterwards.

    Example: `TESSERA_DATABASE=postgresql://tessera@db/tessera tessera migrate`
    """
    settings = settings_for(data=data)
    with plain_errors():
        from index.database import engines as database

        before, now = database.migrate(settings.storage)
    typer.echo(f"version {now} already" if before == now else f"version {before} is now {now}")
