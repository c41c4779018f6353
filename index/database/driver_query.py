"""Queries by the database's driver alone, for what every search reads.

SQLAlchemy's own work would take several times as long as the database's. The caller translates the
driver's errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import ColumnElement, Dialect, Engine, Select, bindparam
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.compiler import SQLCompiler

from index.database.errors import translate_errors


@contextmanager
def borrow(reader: Engine) -> Iterator[PoolProxiedConnection]:
    """Borrow a connection; each query is a transaction of its own.

    PostgreSQL is asked once for each, and not for the transaction's begin and end. Raises the
    errors that those of the driver stand for.
    """
    with translate_errors(), closing(reader.raw_connection()) as connection:
        driver = connection.driver_connection
        if not isinstance(driver, psycopg.Connection):  # SQLite's begin none by themselves
            yield connection
            return
        driver.autocommit = True
        try:
            yield connection
        finally:
            if driver.info.transaction_status == TransactionStatus.IDLE:
                driver.autocommit = False
            else:  # lost, or left in the middle of an answer
                connection.invalidate()
                if driver.closed:  # so are others of the same server, which cannot tell
                    reader.dispose()


class DriverQuery:
    """A query with named parameters, compiled once for each kind of database.

    Of a column with values to choose from, for few numbers of these: the last one is repeated up to
    a power of two.
    """

    def __init__(self, statement: Select[Any], among: ColumnElement[Any] | None = None) -> None:
        """`statement` has bindparams; `among` is the column of `values`."""
        self._statement, self._among = statement, among
        self._compile = lru_cache(maxsize=64)(self._compile_for)

    def _compile_for(self, dialect: Dialect, count: int) -> tuple[SQLCompiler, dict[str, Any]]:
        """Compile the statement for some values; also its constants by name."""
        statement = self._statement
        if self._among is not None:
            kind = self._among.type
            chosen = [bindparam(f"value_{number}", type_=kind) for number in range(count)]
            statement = statement.where(self._among.in_(chosen))
        compiled = statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        return compiled, constants

    def fetch(
        self,
        connection: PoolProxiedConnection,
        dialect: Dialect,
        values: Sequence[object] = (),
        **parameters: object,
    ) -> list[Any]:
        """Fetch all rows, as tuples, or those with one of the values."""
        if self._among is not None and not values:
            return []
        count = 1 << (len(values) - 1).bit_length() if values else 0
        compiled, constants = self._compile(dialect, count)
        repeated = [*values, *[values[-1]] * (count - len(values))] if values else []
        listed = {f"value_{number}": value for number, value in enumerate(repeated)}
        named = {**constants, **parameters, **listed}
        cursor = connection.cursor()
        # Drivers take parameters by place or by name.
        by_place = [named[name] for name in compiled.positiontup or ()]
        cursor.execute(compiled.string, by_place if compiled.positional else named)
        return list(cursor.fetchall())
