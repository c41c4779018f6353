"""Ended sessions of keys, shared by all services of a catalog.

A row of the settings, named by the key and the session, holds when the session began, in seconds
since 1970. A row with the key's name alone ends all of its sessions that began until then.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection, Engine, delete, func, select

from index.database import setting_rows
from index.database.tables import settings

MOST = 1_000  # rows of a key; one more ends all of its sessions
PREFIX = "ended/"


class EndedSessions:
    """The ended sessions of a catalog. For many threads and processes."""

    def __init__(self, reader: Engine, writer: Engine, longest: int) -> None:
        """`longest` is a session's length in seconds; older rows are deleted."""
        self._reader, self._writer, self._longest = reader, writer, longest

    def end(self, key: str, session: str, began: int) -> None:
        """End a session of a key; on disk when this returns."""
        with self._writer.begin() as connection:
            _forget(connection, time.time() - self._longest)
            of_key = setting_rows.begins(f"{PREFIX}{key}/")
            count = select(func.count()).select_from(settings).where(of_key)
            if connection.execute(count).scalar_one() < MOST:
                setting_rows.put(connection, f"{PREFIX}{key}/{session}", _text(began))
            else:
                connection.execute(delete(settings).where(of_key))
                setting_rows.put(connection, f"{PREFIX}{key}", _text(time.time()))

    def has(self, key: str, session: str, began: int) -> bool:
        """Return whether a session of a key was ended."""
        names = f"{PREFIX}{key}", f"{PREFIX}{key}/{session}"
        chosen = select(settings.c.value).where(settings.c.name.in_(names))
        with self._reader.begin() as connection:
            return any(began <= int(until) for until in connection.execute(chosen).scalars())


def _forget(connection: Connection, before: float) -> None:
    """Delete the rows of expired sessions."""
    ended = setting_rows.begins(PREFIX)
    connection.execute(delete(settings).where(ended, settings.c.value < _text(before)))


def _text(when: float) -> str:
    """Write seconds as digits that sort as numbers."""
    return f"{int(when):012d}"
