"""The commands `cluster …`: list and remove the actors of a Ray cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.options import OnCluster, plain_errors, settings_for

app = typer.Typer(
    no_args_is_help=True,
    help="List and end the searching actors of a Ray cluster: docs/use/cluster.md.\n\n"
    "Example: `tessera cluster groups --cluster HOST:6379`",
)


@app.command()
def groups(cluster: OnCluster = None) -> None:
    """List the groups of actors: one a database, matcher and layout.

    Example: `tessera cluster groups --cluster HOST:6379`
    """
    settings = settings_for(cluster=cluster)
    with plain_errors():
        from app.engine.cluster import connect

        for name, count in sorted(connect(settings).groups().items()):
            typer.echo(f"{name}  {count} actors")


@app.command()
def remove(
    group: Annotated[str, typer.Argument(help="Name of the group, from `tessera cluster groups`.")],
    cluster: OnCluster = None,
) -> None:
    """End a group of actors and release its processors.

    Example: `tessera cluster remove 5b0c…-tessera-4x2 --cluster HOST:6379`
    """
    settings = settings_for(cluster=cluster)
    with plain_errors():
        from app.engine.cluster import connect

        connect(settings).remove(group)
