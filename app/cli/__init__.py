"""The commands of search, from serve to check.

A file has the commands of one subject: `upkeep` has migrate, snapshot, restore, check and sweep,
`explain` has describe, align and ground. `options` has what they share; `imports`, `import_paths`
and `demos` are used by `index` and `serve`. Modules here import little: a command imports what it
needs when it runs, so that help and usage errors come at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from app import __version__
from app.cli import (
    agents,
    cluster,
    collections,
    explain,
    index,
    keys,
    models,
    search,
    serve,
    upkeep,
)

app = typer.Typer(no_args_is_help=True, help="Search photos by sentences, and see why.")


def print_version(asked: bool) -> None:
    """Print the version and exit, if asked to."""
    if asked:
        typer.echo(f"tessera {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Take the options of all commands."""


app.command()(serve.serve)
app.command()(agents.mcp)
app.command()(upkeep.migrate)
app.command()(search.search)
app.command()(search.rank)
app.command()(explain.describe)
app.command()(explain.align)
app.command()(explain.ground)
app.command()(models.models)
app.command()(upkeep.snapshot)
app.command()(upkeep.restore)
app.command()(upkeep.check)
app.command()(upkeep.sweep)
app.command()(collections.delete)
app.add_typer(index.app, name="index")
app.add_typer(cluster.app, name="cluster")
app.add_typer(keys.app, name="keys")
app.add_typer(collections.collections, name="collections")
