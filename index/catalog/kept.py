"""Kept collections: which one took the place of which in a re-embedding, by their tokens.

A row of the settings, named by the token of the collection that takes the place, holds the token of
the one that it replaced, or nothing before it has. A token never comes back, so a collection that
is made later, or by another re-embedding, has no part in what was kept for this one.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, or_, select, update

from index.database.tables import settings


def plan_keeping(connection: Connection, token: str) -> None:
    """Say that what a collection will replace is to be kept."""
    if not keeping_planned(connection, token):
        connection.execute(insert(settings), {"name": _name(token), "value": ""})


def keeping_planned(connection: Connection, token: str) -> bool:
    """Whether what a collection replaces is to be kept."""
    return former_token(connection, token) is not None


def former_token(connection: Connection, token: str) -> str | None:
    """The token of what a collection replaced: empty before it has, None if it is not kept."""
    query = select(settings.c.value).where(settings.c.name == _name(token))
    value: str | None = connection.execute(query).scalar_one_or_none()
    return value


def record_former(connection: Connection, token: str, former: str) -> None:
    """Say what a collection has replaced, as it was planned."""
    row = settings.c.name == _name(token)
    connection.execute(update(settings).where(row).values(value=former))


def release(connection: Connection, token: str) -> None:
    """Forget what was kept for a collection, and for which one it was kept."""
    rows = or_(settings.c.name == _name(token), settings.c.value == token)
    connection.execute(delete(settings).where(rows))


def _name(token: str) -> str:
    return f"kept/{token}"
