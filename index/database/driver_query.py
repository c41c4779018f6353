"""Queries by the database's driver alone, for what every search reads.

SQLAlchemy's own work would take several times as long as the database's. The caller translates the
driver's errors.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Dialect, Select
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.compiler import SQLCompiler


class DriverQuery:
    """A query with named parameters, compiled once for each kind of database."""

    def __init__(self, statement: Select[Any]) -> None:
        """`statement` has a bindparam for each parameter."""
        self._compile = lru_cache(maxsize=8)(lambda dialect: statement.compile(dialect=dialect))

    def fetch(
        self, connection: PoolProxiedConnection, dialect: Dialect, **parameters: object
    ) -> list[Any]:
        """Fetch all rows, as tuples."""
        compiled = self._compile(dialect)
        assert isinstance(compiled, SQLCompiler)
        cursor = connection.cursor()
        # Drivers take parameters by place or by name.
        by_place = [parameters[name] for name in compiled.positiontup or ()]
        cursor.execute(compiled.string, by_place if compiled.positional else parameters)
        return list(cursor.fetchall())
