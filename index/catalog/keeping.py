"""Keeping pictures: while any process does so, no collector deletes one that a row has named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine

from index.disk import locked

LOCK = 0x7E55EC0  # the number of our advisory lock in a database of PostgreSQL


@contextmanager
def keeping(engine: Engine) -> Iterator[None]:
    """No picture is deleted meanwhile, by any process of any host that uses the database."""
    if engine.dialect.name == "sqlite":
        with locked(_file(engine), shared=True, wait=True):
            yield
        return
    # Without a transaction, which the server would end for being idle.
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock_shared({LOCK})")
        try:
            yield
        finally:
            connection.exec_driver_sql(f"SELECT pg_advisory_unlock_shared({LOCK})")


@contextmanager
def deleting(connection: Connection) -> Iterator[bool]:
    """Whether pictures may be deleted now, within a transaction that goes on until they are."""
    if connection.dialect.name == "sqlite":
        with locked(_file(connection.engine)) as alone:
            yield alone
    else:
        lock = f"SELECT pg_try_advisory_xact_lock({LOCK})"
        yield bool(connection.exec_driver_sql(lock).scalar())


def _file(engine: Engine) -> Path:
    assert engine.url.database is not None, "a database that is a file"
    return Path(f"{engine.url.database}-kept")
