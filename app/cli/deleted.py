"""The command `index deleted`: photos left out of imports."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.collections import open_catalog
from app.cli.options import Data, Named
from app.defaults import DEFAULT_COLLECTION
from app.unprintable import escape_unprintable


def list_deleted(
    restore: Annotated[
        list[str] | None, typer.Option(help="Let the photo of an id come with the next import.")
    ] = None,
    restore_all: Annotated[
        bool, typer.Option("--restore-all", help="Let all of them come again.")
    ] = False,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
) -> None:
    """List deleted photos left out of imports, or let them come again.

    Examples: `tessera index deleted`, `tessera index deleted --restore Pictures/a.jpg`
    """
    with open_catalog(data) as catalog:
        from index.database import deleted_photos

        home = catalog.names.find(collection)
        photos = deleted_photos.list_deleted(catalog.reader, home)
        ids, named = {photo.id for photo in photos}, set(restore or ())
        if unknown := sorted(named - ids):
            raise LookupError(
                f"no deleted photo {unknown[0]!r}: `tessera index deleted` lists them"
            )
        restored = deleted_photos.restore(catalog.writer, home, ids if restore_all else named)
    if restore or restore_all:
        typer.echo(f"{len(restored):,} come with the next import", err=True)
        return
    for photo in photos:
        typer.echo(f"{escape_unprintable(photo.id)}\t{escape_unprintable(photo.place)}")
    typer.echo(f"{len(photos):,} deleted photos are left out of imports", err=True)
