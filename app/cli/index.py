"""The commands `index …`: add items, show statistics, audit searches."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from app import priority
from app.cli import deleted, duplicates
from app.cli.options import (
    Data,
    Named,
    OnCluster,
    check_data_folder,
    check_paths,
    plain_errors,
    settings_for,
)
from app.defaults import DEFAULT_COLLECTION
from index import printing
from index.progress import show

if TYPE_CHECKING:
    from app.engine.engine import Engine

TRIED = 8  # items whose embedding tells how long all take
HOUR = 90.0  # minutes from which on hours are said


class Adding(TyperGroup):
    """Takes `tessera index photos/` for `tessera index add photos/`, and helps with both."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Describe the options of an import, and then the other commands."""
        command = self.commands["add"]
        with command.make_context("index", [], ctx.parent, resilient_parsing=True) as adding:
            command.format_help(adding, formatter)
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `add` if no command is named."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["add", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(
    cls=Adding,
    no_args_is_help=True,
    help="Index photos and sentences, and show their index.\n\nExample: `tessera index ~/Pictures`",
)


@app.command()
def add(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders, s3://BUCKET/FOLDER, photos, .jsonl files, or tables: .csv, .tsv, "
            ".txt, .parquet."
        ),
    ] = None,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Embed the stored items again, for another model.")
    ] = False,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="With --reembed: services of the former model search on."),
    ] = False,
    share: Annotated[
        float,
        typer.Option(min=0.01, max=1, help="With --reembed: the share of the time to compute."),
    ] = 1.0,
    mapping: Annotated[
        Path | None,
        typer.Option("--map", exists=True, help="Roles of a table's columns; a TOML file."),
    ] = None,
    refused: Annotated[
        Path | None,
        typer.Option(help="File for refused rows.", show_default="next to the table"),
    ] = None,
    sync: Annotated[
        bool | None,
        typer.Option(
            "--sync/--no-sync",
            help="Delete items of what is no longer there.",
            show_default="of folders",
        ),
    ] = None,
    most_deleted: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="The largest share to delete.",
            show_default="0.1; of folders also up to 5 items",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete as many as are gone: --most-deleted 1.")
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Rows and lines replace items of the same id from other files or over HTTP.",
        ),
    ] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Files and folders to leave out, in the patterns of .gitignore."),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Print each change: new, renamed, deleted, and so on.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and index again after every change.")
    ] = False,
    rescan: Annotated[
        float,
        typer.Option(min=0.01, help="With --watch: the minutes until a scan without a change."),
    ] = 60,
    parent: Annotated[int | None, typer.Option(hidden=True)] = None,
    cluster: OnCluster = None,
) -> None:
    """Index photos and sentences; an interrupted import continues when repeated.

    A folder's items become equal to its photos: renamed and moved files keep their items, and those
    of deleted files go. Nothing goes from a folder that is empty or unreadable, or has lost many.

    A .jsonl file holds lines of {"id", "image", "images", "sentences", "metadata"}, each optional,
    or rows of a table. The roles of columns are guessed, and printed before any row is read.
    What is not read is counted by its kind at the end.

    Examples: `tessera index ~/Pictures`, `tessera index products.csv --collection shop`

    `tessera index ~/Pictures --watch --exclude '*.tmp' --exclude cache/`

    `tessera index /shared/photos --cluster HOST:6379` embeds on a Ray cluster.
    See docs/use/cluster.md.

    `TESSERA_MATCHER=new.safetensors tessera index --reembed`
    """
    settings = settings_for(data=data, cluster=cluster)
    _check_options(paths, reembed=reembed, keep=keep)
    if not settings.cluster:  # whose actors do the work, and wait for this process
        priority.lower(priority.BACKGROUND)
    with plain_errors():
        from app.cli.import_paths import ImportOptions, PathImport, read_place
        from app.cli.options import load_engine
        from app.imports.tables.columns import read_mapping

        places = [read_place(path) for path in paths or ()]
        engine = load_engine(settings.model_copy(update={"cluster": ""}))  # nothing is searched
        columns = read_mapping(mapping) if mapping else {}
        if reembed:
            _reembed(engine, collection, keep=keep, share=share)
        most = 1.0 if yes else most_deleted
        options = ImportOptions(
            columns, refused, tuple(exclude or ()), sync, most, listed, overwrite
        )
        work = PathImport(engine, collection, settings, options)
        try:
            if watch:
                work.follow(places, 60 * rescan, parent)
                return
            tally = work.run(places)
        except KeyboardInterrupt:
            typer.echo("Interrupted; what was stored stays. Run it again to go on.", err=True)
            raise typer.Exit(130) from None
        except OSError:  # the database or the disk; what it is comes last
            typer.echo("Stopped; what was stored stays. Run it again to go on.", err=True)
            raise
        engine.close()
    if paths:
        tally.print()
    if tally.failed or tally.in_vain:
        raise typer.Exit(1)


app.command("deleted")(deleted.list_deleted)
app.command("duplicates")(duplicates.list_duplicates)


@app.command()
def stats(collection: Named = DEFAULT_COLLECTION, data: Data = None) -> None:
    """Show a collection's segments and methods of search.

    Example: `tessera index stats`
    """
    settings = settings_for(data=data)
    with plain_errors():
        check_data_folder(settings.storage)
        from app.answers import system as answers
        from app.cli.options import load_engine

        index = answers.index(load_engine(settings), collection)
    table = printing.make_table(
        "", "rows", "in memory", "found by", title=f"collection {collection}"
    )
    for name, side in (("photos", index.images), ("sentences", index.sentences)):
        by = ", ".join(f"{kind} {rows:,}" for kind, rows in side.found_by.items())
        table.add_row(name, f"{side.rows:,}", f"{side.in_memory:,}", by)
    printing.print_out(table)
    typer.echo(f"{index.segments} segments, {index.bytes:,} bytes, {index.behind:,} changes behind")


@app.command()
def audit(
    queries: Annotated[list[str], typer.Argument(help="Texts to search with.")],
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Hits of each query.")] = 10,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Look for sentences instead of photos.")
    ] = False,
) -> None:
    """Answer queries as usual and exactly, and print the recall.

    Example: `tessera index audit "a red bus" "two dogs" boots`
    """
    settings = settings_for(data=data)
    with plain_errors():
        check_data_folder(settings.storage)
        from app.answers import system as answers
        from app.cli.options import load_engine
        from app.schemas.system import AuditRequest

        request = AuditRequest(
            collection=collection,
            side="sentences" if sentences else "images",
            queries=queries,
            limit=limit,
        )
        report = answers.audit(load_engine(settings), request)
    if report.recall is None:
        typer.echo(f"nothing was measured: {report.note}")
    else:
        typer.echo(
            f"recall {report.recall:.3f}, worst {report.worst:.3f}, of {report.queries:,} queries"
        )


def _check_options(paths: list[str] | None, *, reembed: bool, keep: bool) -> None:
    if not paths and not reembed:
        raise typer.BadParameter("name a folder, a photo or a .jsonl file")
    check_paths(paths or ())
    if keep and not reembed:
        raise typer.BadParameter("--keep needs --reembed: give both, or neither")


def _reembed(engine: Engine, collection: str, *, keep: bool, share: float) -> None:
    if engine.find(collection).fingerprint == engine.models.fingerprint:
        rest = "re-embed or keep" if keep else "re-embed"
        typer.echo(f"{collection} is of this model already: nothing to {rest}", err=True)
        return
    typer.echo(_estimate(engine, collection, share), err=True)
    with show(Console(stderr=True)) as report:
        engine.reembed(collection, partial(report, "Embedding again"), keep=keep, share=share)
    count = engine.catalog.count(engine.find(collection))
    typer.echo(f"{collection} is of this model now: {count:,} items embedded again", err=True)


def _estimate(engine: Engine, collection: str, share: float) -> str:
    """Estimate a re-embedding's time by a few items."""
    from app.engine.drafts import Draft

    home = engine.find(collection)
    ids = [item.id for item in engine.catalog.list_items(home, limit=TRIED, damaged=set())]
    entries = [engine.catalog.entry(home, id_) for id_ in ids]
    began = monotonic()
    engine.embed([Draft.of(entry) for entry in entries])
    minutes = (monotonic() - began) / max(1, len(ids)) * engine.catalog.count(home) / share / 60
    return (
        f"{engine.catalog.count(home):,} items of {collection} are embedded again, which takes "
        f"{_describe_minutes(minutes)} here at most; an interruption continues at the next call"
    )


def _describe_minutes(minutes: float) -> str:
    """Describe an estimated time.

    >>> _describe_minutes(0.2), _describe_minutes(2.6), _describe_minutes(150)
    ('a minute', 'about 3 minutes', 'about 2.5 hours')
    """
    if minutes <= 1:
        return "a minute"
    return f"about {minutes:,.0f} minutes" if minutes < HOUR else f"about {minutes / 60:,.1f} hours"
