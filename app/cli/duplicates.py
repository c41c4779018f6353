"""The command `index duplicates`: series of near-duplicate photos."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.collections import open_catalog
from app.cli.options import Data, Named
from app.defaults import DEFAULT_COLLECTION
from app.unprintable import escape_unprintable


def list_duplicates(
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Series to list.")] = 20,
) -> None:
    """List near-duplicate photos, with the bytes of all but the largest.

    `tessera delete ID …` takes photos out of the index. Their files are never touched.

    Example: `tessera index duplicates --limit 5`
    """
    with open_catalog(data) as catalog:
        from app.answers.duplicates import read_series

        every = read_series(catalog, catalog.names.find(collection))
    for series in every[:limit]:
        typer.echo(f"# {len(series.members):,} photos, {series.spare:,} bytes to spare")
        for member in series.members:
            typer.echo(f"{escape_unprintable(member.id)}\t{member.size:,}")
    photos, spare = sum(len(each.members) for each in every), sum(each.spare for each in every)
    typer.echo(
        f"{len(every):,} series of {photos:,} photos, {spare:,} bytes to spare; files are never "
        "touched",
        err=True,
    )
