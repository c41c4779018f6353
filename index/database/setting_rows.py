"""Rows of the table of settings, by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from index.database.tables import settings


def read(connection: Connection, name: str) -> str | None:
    """Read a setting; None without one."""
    query = select(settings.c.value).where(settings.c.name == name)
    value: str | None = connection.execute(query).scalar_one_or_none()
    return value


def put(connection: Connection, name: str, value: str) -> None:
    """Write a setting instead of the one before, in one statement."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = dialect.insert(settings).values(name=name, value=value)
    newer = {"value": row.excluded.value}
    connection.execute(row.on_conflict_do_update(index_elements=[settings.c.name], set_=newer))
