"""The random name of a catalog, another one for a copy.

It is a row of the settings, next to what tells the database from its copies: for SQLite the path
and the inode of the file, one of which stays when a folder is moved or restored; for PostgreSQL
what the server says about itself and the database. Rows named after another catalog say what this
catalog inherits from it, until that is done.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Connection, Engine, delete, select

from index.database import setting_rows
from index.database.tables import settings

NAME, HOME = "catalog", "home"
READABLE = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
DATABASE = "SELECT oid::text FROM pg_database WHERE datname = current_database()"


class Heritage(StrEnum):
    """The inheritance from another catalog: all it owned, or the copied part."""

    MOVED = "moved"
    COPIED = "copied"


def read_name(connection: Connection) -> str | None:
    """Read the catalog's name, None if it has none yet."""
    return setting_rows.read(connection, NAME)


def ensure_name(reader: Engine, exclusive: Engine) -> str:
    """Return the catalog's name.

    Makes one if it has none or its database is a copy.
    """
    with reader.begin() as connection:
        name, home = setting_rows.read(connection, NAME), setting_rows.read(connection, HOME)
        current = _home(connection)
    if name is not None and home == current:
        return name
    with exclusive.begin() as connection:
        name, home = setting_rows.read(connection, NAME), setting_rows.read(connection, HOME)
        if name is None or _is_copy(home, current):
            if name is not None:
                setting_rows.put(connection, f"{Heritage.COPIED}/{name}", "")
            name = uuid4().hex
            setting_rows.put(connection, NAME, name)
        setting_rows.put(connection, HOME, current)
    return name


def inherit(connection: Connection, name: str, heritage: Heritage) -> None:
    """Note that this catalog inherits from another one."""
    setting_rows.put(connection, f"{heritage}/{name}", "")


def read_heritage(reader: Engine) -> dict[str, Heritage]:
    """Read what this catalog still inherits, by the names of others."""
    with reader.begin() as connection:
        names = connection.execute(select(settings.c.name)).scalars().all()
    parts = [name.partition("/") for name in names]
    kinds = {kind.value: kind for kind in Heritage}
    return {former: kinds[kind] for kind, slash, former in parts if slash and kind in kinds}


def forget_heritage(exclusive: Engine) -> None:
    """Note that everything is inherited."""
    rows = [setting_rows.begins(f"{kind}/") for kind in Heritage]
    with exclusive.begin() as connection:
        for row in rows:
            connection.execute(delete(settings).where(row))


def _home(connection: Connection) -> str:
    """Return what tells the database from its copies; empty if unknown."""
    if connection.dialect.name == "sqlite":
        file = Path(connection.engine.url.database or "")
        return f"{file.stat().st_ino} {file.resolve()}" if file.is_file() else ""
    if not connection.exec_driver_sql(READABLE).scalar():
        return ""
    server = connection.exec_driver_sql("SELECT system_identifier::text FROM pg_control_system()")
    database = connection.exec_driver_sql(DATABASE)
    return f"{server.scalar_one()}/{database.scalar_one()}"


def _is_copy(home: str | None, current: str) -> bool:
    if not home or not current:
        return False
    # One part of SQLite's stays: the path where a backup is put back, the inode in a moved folder.
    return not any(a == b for a, b in zip(home.split(" ", 1), current.split(" ", 1), strict=False))
