"""The commands `export …`: what is stored, for other engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import Data, Named, plain_errors, settings_for
from app.defaults import DEFAULT_COLLECTION

app = typer.Typer(
    no_args_is_help=True,
    help="Write what is stored for other engines.\n\nExample: `tessera export vespa application`",
)


@app.callback()
def export() -> None:
    """Write what is stored for other engines."""


@app.command()
def vespa(
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet.")],
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
    query: Annotated[
        str | None, typer.Option(help="A text whose request is written to query.json.")
    ] = None,
) -> None:
    """Write an application for Vespa: schemas, rank profiles for both directions, and a feed.

    It was not run against a live Vespa. See docs/use/cluster.md.

    Example: `tessera export vespa application --query "a red bus"`
    """
    settings = settings_for(data=data)
    if folder.exists():
        raise typer.BadParameter(f"{folder} is there; name a new folder")
    with plain_errors():
        import json

        from app import vespa as exporting
        from app.cli.options import load_models
        from index.catalog.catalog import Catalog

        catalog = Catalog(settings.storage)
        home = catalog.find(collection)
        count = exporting.write(catalog, home, folder)
        if query is not None:
            body = exporting.request(load_models(settings).query(query), home.score)
            (folder / "query.json").write_text(json.dumps(body) + "\n")
        catalog.close()
    typer.echo(f"{count:,} documents; not tested against a live Vespa", err=True)
