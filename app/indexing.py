"""The commands of the index: add photos and sentences, tell how it searches, audit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Table
from typer.core import TyperGroup

from app import folder
from app.answers import index as index_answers
from app.decoding.pool import Allowance, Decoders
from app.engine import Engine
from app.folder import Outcome, Source
from app.options import Data, Named, plain_errors, settings_for
from app.schemas.system import AuditRequest
from app.settings import DEFAULT_COLLECTION, Settings


class Adding(TyperGroup):
    """Takes `tessera index photos/` for `tessera index add photos/`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the command that is meant where none is named."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["add", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(
    cls=Adding,
    no_args_is_help=True,
    help="Index photos and sentences, and see how they are searched.\n\n"
    "Example: `tessera index ~/Pictures`",
)


@app.command()
def add(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Folders, photos, or .jsonl files.")
    ] = None,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Embed what is there anew, for another model.")
    ] = False,
) -> None:
    """Index photos and sentences; may be interrupted and goes on where it was.

    A .jsonl file holds lines of {"id", "image", "sentences", "metadata"}, each optional.

    Examples: `tessera index ~/Pictures`, `tessera index catalogue.jsonl --collection shop`

    `TESSERA_MATCHER=new.safetensors tessera index --reembed`
    """
    settings = settings_for(data=data)
    if not paths and not reembed:
        raise typer.BadParameter("name a folder, a photo or a .jsonl file")
    with plain_errors():
        engine = Engine.load(settings)
        if reembed:
            _reembed(engine, collection)
        try:
            counts = bring_in(engine, collection, folder.find(paths or []), settings)
        except KeyboardInterrupt:
            typer.echo("Interrupted; what was stored stays. Run it again to go on.", err=True)
            raise typer.Exit(130) from None
        engine.indexes.build()
    told = ", ".join(f"{counts[status]:,} {status}" for status in ("stored", "skipped", "refused"))
    typer.echo(told, err=True)
    if paths and counts["refused"] and not counts["stored"] + counts["skipped"]:
        raise typer.Exit(1)


@app.command()
def stats(collection: Named = DEFAULT_COLLECTION, data: Data = None) -> None:
    """Tell how a collection is searched: its segments, and what finds rows.

    Example: `tessera index stats`
    """
    with plain_errors():
        found = index_answers.index(Engine.load(settings_for(data=data)), collection)
    table = Table("", "rows", "in memory", "found by", title=f"collection {collection}")
    for name, side in (("photos", found.images), ("sentences", found.sentences)):
        by = ", ".join(f"{kind} {rows:,}" for kind, rows in side.found_by.items())
        table.add_row(name, f"{side.rows:,}", f"{side.in_memory:,}", by)
    Console().print(table)
    typer.echo(f"{found.segments} segments, {found.bytes:,} bytes, {found.behind:,} changes behind")


@app.command()
def audit(
    queries: Annotated[list[str], typer.Argument(help="Texts to search photos with.")],
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Hits of each query.")] = 10,
) -> None:
    """Answer queries twice, as usual and exactly, and tell how much of the truth is found.

    Example: `tessera index audit "a red bus" "two dogs" boots`
    """
    with plain_errors():
        asked = AuditRequest(collection=collection, queries=queries, limit=limit)
        found = index_answers.audit(Engine.load(settings_for(data=data)), asked)
    typer.echo(f"recall {found.recall:.3f}, worst {found.worst:.3f}, of {found.queries:,} queries")


def bring_in(
    engine: Engine, collection: str, found: Iterable[Source | Outcome], settings: Settings
) -> Counter[str]:
    """Import with a bar on the terminal, and a line for each that is refused."""
    with Decoders(folder.DECODERS, Allowance.of(settings)) as decode:
        outcomes: Iterable[Outcome] = folder.bring_in(
            engine,
            collection,
            found,
            batch=settings.batch,
            most_bytes=settings.upload_bytes,
            decode=decode,
        )
        console = Console(stderr=True)
        if console.is_terminal:
            total = len(found) if isinstance(found, Sequence) else None  # a stream's is not known
            outcomes = track(outcomes, "Indexing", total=total, console=console)
        return Counter(_tell(outcome) for outcome in outcomes)


def _tell(outcome: Outcome) -> str:
    if outcome.status == "refused":
        typer.echo(f"refused {outcome.place}: {outcome.reason}", err=True)
    return outcome.status


def _reembed(engine: Engine, collection: str) -> None:
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("Embedding anew")
        engine.reembed(collection, lambda done, all_: bar.update(task, completed=done, total=all_))
