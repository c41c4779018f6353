"""Migrations: the version of a catalog's tables, and upgrades to the newest.

A version is a file of `versions/`, whose name begins with its number. It defines its changes
without `index.database.tables`, which only knows the newest state. In SQLite a migration adds and
drops; a table that others refer to cannot be copied (`batch_alter_table`), because dropping it
would delete their rows. alembic is imported only if there is something to migrate.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from index.database.errors import RESTORING

FIRST = "0001"  # tables before there were migrations: layout 2
FIRST_LAYOUT = 2
FOLDER = Path(__file__).parent


def version_of(connection: Connection) -> str | None:
    """Read the version of a catalog's tables; None without tables.

    Raises ValueError for tables that are older than the first version.
    """
    names, advice = inspect(connection).get_table_names(), RESTORING[connection.dialect.name]
    ours = {"settings", "collections"} & set(names)
    if "alembic_version" in names:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if version is None and ours:
            raise ValueError(f"the catalog does not say which version its tables have: {advice}")
        return version
    if not ours:
        return None
    layout = _layout(connection) if "settings" in names else "1"
    if layout != str(FIRST_LAYOUT):
        raise ValueError(
            f"the catalog was made by another version of Tessera: its tables have layout {layout}, "
            f"which cannot be migrated. Index into a new data folder, or {advice}"
        )
    return FIRST


def newest() -> str:
    """Return the version that this code reads and writes."""
    return versions()[-1]


@cache
def versions() -> tuple[str, ...]:
    """List all versions in order."""
    files = (FOLDER / "versions").glob("[0-9]*.py")
    return tuple(sorted(file.name.partition("_")[0] for file in files))


def upgrade(connection: Connection, version: str | None, target: str | None = None) -> None:
    """Upgrade tables to the newest version, or a target.

    It is part of the connection's transaction.
    Raises ValueError for a version of a newer Tessera.
    """
    if version is not None and version not in versions():
        raise ValueError(refusal(connection.dialect.name, version))
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    if version == FIRST and not inspect(connection).has_table("alembic_version"):
        command.stamp(config, FIRST)
    command.upgrade(config, target or newest())


def refusal(dialect: str, version: str) -> str:
    """Explain why a catalog of another version is not opened."""
    if version in versions():
        return (
            f"the tables of the catalog have version {version}, and this version of Tessera needs "
            f"{newest()}: run `tessera migrate` once, then restart every service that uses them"
        )
    return (
        f"the tables of the catalog have version {version}, which a newer version of Tessera made; "
        f"this one knows {newest()} at most: use the newer one, or, to go back, "
        f"{RESTORING[dialect]}"
    )


def _layout(connection: Connection) -> str:
    layout = connection.execute(text("SELECT value FROM settings WHERE name = 'layout'"))
    return layout.scalar_one_or_none() or "unknown"
