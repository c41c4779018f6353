"""The command `migrate`: the tables of a database, brought to this version."""

from __future__ import annotations

import typer

from app.cli.options import Data, plain_errors, settings_for


def migrate(data: Data = None) -> None:
    """Bring the tables of the database to the version that this Tessera needs.

    A new database and SQLite need no command; services on PostgreSQL are restarted afterwards.

    Example: `TESSERA_DATABASE=postgresql://tessera@db/tessera tessera migrate`
    """
    settings = settings_for(data=data)
    with plain_errors():
        from index.database import engines as database

        before, now = database.migrate(settings.storage)
    typer.echo(f"version {now} already" if before == now else f"version {before} is now {now}")
