"""The commands of keys: `keys add`, `keys list`, `keys remove`."""

from __future__ import annotations

import os
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from app.cli.options import Data, plain_errors, settings_for
from index import printing

if TYPE_CHECKING:
    from app.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    help="Keys for other users. A running service sees changes at once.\n\n"
    "Example: `tessera keys add anna --role write`",
)

Name = Annotated[str, typer.Argument(help="What the key is called, such as who uses it.")]
File = Annotated[
    Path | None, typer.Option("--keys", help="File of keys.", show_default="keys.jsonl in the data")
]


@app.command()
def add(
    name: Name,
    role: Annotated[
        Literal["read", "write", "admin"],
        typer.Option(help="What it may do; each role includes those before."),
    ],
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="Bind it to a collection; may be given more than once.", show_default="all"
        ),
    ] = None,
    rate_limit: Annotated[
        str | None, typer.Option(help="How many requests in a while, such as 100/minute.")
    ] = None,
    concurrency_limit: Annotated[
        int | None, typer.Option(min=1, help="How many requests at once.")
    ] = None,
    keys: File = None,
    data: Data = None,
) -> None:
    """Make a key, show it once, and keep its hash.

    Examples: `tessera keys add anna --role write`

    `tessera keys add shop-page --role read --collection shop --rate-limit 600/minute`
    """
    settings = settings_for(keys=keys, data=data)
    file = settings.keys_file
    with plain_errors():
        from app.access.key_file import add_key
        from app.access.keys import make_key
        from app.roles import Role

        secret, key = make_key(
            name,
            Role(role),
            collections=tuple(collection) if collection else None,
            rate_limit=rate_limit,
            concurrency_limit=concurrency_limit,
        )
        add_key(file, key)
        bound = {"collections": ", ".join(key.collections)} if key.collections else {}
        _audit(settings, f"keys add {key.name}", role=key.role, **bound)
    typer.echo(secret)
    typer.echo(f"This is the only time that the key is shown. {file} holds its hash.", err=True)


@app.command("list")
def list_keys(keys: File = None, data: Data = None) -> None:
    """List the file's keys without secrets, and its damaged lines.

    Example: `tessera keys list`
    """
    file = settings_for(keys=keys, data=data).keys_file
    with plain_errors():
        from app.access.key_file import describe_damage, read_lines
        from app.unprintable import escape_unprintable

        lines = read_lines(file)
    table = printing.make_table("name", "role", "collections", "rate limit", "concurrency limit")
    for key in (line.key for line in lines if line.key is not None and line.opens):
        bound = "all" if key.collections is None else ", ".join(key.collections)
        limits = key.rate_limit or "", str(key.concurrency_limit or "")
        table.add_row(escape(escape_unprintable(key.name)), key.role, escape(bound), *limits)
    printing.print_out(table)
    for problem in describe_damage(lines):
        typer.echo(f"{file}, {problem}", err=True)


@app.command()
def remove(name: Name, keys: File = None, data: Data = None) -> None:
    """Take a key back; requests with it are refused from now on.

    Example: `tessera keys remove anna`
    """
    settings = settings_for(keys=keys, data=data)
    file = settings.keys_file
    with plain_errors():
        from app.access.key_file import read_keys, remove_key

        remove_key(file, name)
        left = read_keys(file)
    _audit(settings, f"keys remove {name}")
    typer.echo(f"{name} is no key any more.", err=True)
    if not left:
        typer.echo(
            f"It was the last one in {file}. Services that run still ask for a key: add another, "
            "or delete the file and restart them to serve without keys.",
            err=True,
        )


def _audit(settings: Settings, what: str, **facts: str) -> None:
    """Add a line to the audit, by this system's user."""
    from app.telemetry.audit import AuditLog

    try:
        user = getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = f"user {os.getuid()}"
    AuditLog(settings.audit).add(user, what, **facts)
