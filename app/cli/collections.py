"""The commands of stored data: `delete`, and `collections` with their aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from app.cli.options import Data, Named, check_data_folder, plain_errors, settings_for
from app.defaults import DEFAULT_COLLECTION
from app.validation import read_values
from index import printing

if TYPE_CHECKING:
    from index.catalog.catalog import Catalog
    from index.items import Collection

NAMED = 5  # unknown ids of a deletion that are printed

collections = typer.Typer(help="List, rename and drop collections; their aliases and languages.")

Name = Annotated[str, typer.Argument(help="A collection.")]


def delete(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of items.")] = None,
    filter: Annotated[  # noqa: A002 - the API's own name
        str | None, typer.Option(help='Metadata of the items, as JSON: {"album": "park"}')
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them only.")] = False,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
) -> None:
    """Delete items by ids or by a filter.

    It may run next to a service. Photos of folders stay away: `tessera index deleted` lists them.

    Examples: `tessera delete dog cat`

    `tessera delete --filter '{"album": "park"}' --dry-run`
    """
    with open_catalog(data) as catalog:
        from index.catalog import edits as editing
        from index.catalog.edits import ItemSelection

        chosen = ItemSelection(ids or None, None if filter is None else _read_filter(filter))
        home = catalog.names.find(collection)
        unknown = _list_unknown(catalog, home, ids or ())
        work = editing.count if dry_run else partial(editing.delete, remember=True)
        count = work(catalog, home, chosen)
    if unknown:
        named = ", ".join(f"{item!r:.220}" for item in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
        typer.echo(f"no item has the id {named}{more}", err=True)
    typer.echo(f"{count:,} {'to delete' if dry_run else 'deleted'}", err=True)


def _read_filter(text: str) -> Any:
    """Read the JSON of --filter; a ValueError shows the right form."""
    try:
        return read_values(text)
    except ValueError as broken:
        raise ValueError(
            f"--filter {text!r:.100} is not valid JSON ({broken}): write it such as "
            """'{"album": "park"}'"""
        ) from broken


def _list_unknown(catalog: Catalog, home: Collection, ids: Sequence[str]) -> list[str]:
    """List the ids without an item; damaged ones have one."""
    damaged = set[str]()
    stored = catalog.get_many(home, ids, damaged)
    return [item for item in dict.fromkeys(ids) if item not in stored and item not in damaged]


@collections.command("list")
def list_collections(data: Data = None) -> None:
    """List the collections and their aliases.

    Example: `tessera collections list`
    """
    table = printing.make_table("collection", "aliases", "items", "model")
    with open_catalog(data) as catalog:
        aliases = catalog.names.aliases()
        for collection in catalog.names.all():
            others = ", ".join(
                alias.name for alias in aliases if alias.collection == collection.name
            )
            items = f"{catalog.count(collection):,}"
            table.add_row(escape(collection.name), escape(others), items, collection.fingerprint)
    printing.print_out(table)


@collections.command()
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="The new name.")],
    alias: Annotated[bool, typer.Option("--alias", help="Leave the old name as an alias.")] = False,
    data: Data = None,
) -> None:
    """Rename a collection.

    Example: `tessera collections rename shop shop-1 --alias`
    """
    with open_catalog(data) as catalog:
        catalog.names.rename(name, new, alias=alias)


@collections.command()
def alias(
    name: Annotated[str, typer.Argument(help="The alias.")],
    collection: Annotated[
        str | None, typer.Argument(help="What it stands for from now on; none deletes it.")
    ] = None,
    data: Data = None,
) -> None:
    """Point an alias to a collection, or delete the alias.

    Services change over at once.

    Examples: `tessera collections alias shop shop-2`

    `tessera collections alias shop`
    """
    with open_catalog(data) as catalog:
        if collection is None:
            catalog.names.forget(name)
        else:
            catalog.names.point(name, collection)


@collections.command()
def language(
    name: Name,
    code: Annotated[
        str | None, typer.Argument(help="A code of ISO 639 such as de; none shows the language.")
    ] = None,
    data: Data = None,
) -> None:
    """Choose the language of a collection's words, or show it.

    Services read all words again by themselves.

    Example: `tessera collections language shop de`
    """
    with open_catalog(data) as catalog:
        from index.database import curation
        from index.documents.languages.snowball import find_language, language_of

        home = catalog.names.find(name)
        if code is not None:
            curation.write(catalog.writer, home, "language", [find_language(code).code])
        chosen = language_of(curation.read(catalog.reader, home, "language"))
    typer.echo(f"{chosen.code} ({chosen.name})")


@collections.command()
def drop(name: Name, data: Data = None) -> None:
    """Drop a collection and delete its items.

    A collection with an alias is refused.

    Example: `tessera collections drop shop-1`
    """
    with open_catalog(data) as catalog:
        catalog.names.drop(name)
        catalog.sweep_collections()


@contextmanager
def open_catalog(data: Path | None) -> Iterator[Catalog]:
    """Open the catalog of a data folder without a model.

    It makes none, and prints mistakes in a sentence.
    """
    storage = settings_for(data=data).storage
    with plain_errors():
        check_data_folder(storage)
        from index.catalog.catalog import Catalog

        with closing(Catalog(storage)) as catalog:
            yield catalog
