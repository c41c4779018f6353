"""Rows of collections: made, given revisions, and garbage once they are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import (
    BindParameter,
    Connection,
    Dialect,
    Row,
    ScalarSelect,
    and_,
    bindparam,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.pool import PoolProxiedConnection

from index.database.driver_query import DriverQuery
from index.database.tables import changes, collections
from index.items import Collection, Replaced

Found = TypeVar("Found", bound=Sequence[Any])


# Whether a collection has a name, or will take another one's; else it is garbage.
LIVE = or_(collections.c.name.is_not(None), collections.c.replaces.is_not(None))
GARBAGE = and_(collections.c.name.is_(None), collections.c.replaces.is_(None))


def key_if_live(collection: int | BindParameter[int]) -> ScalarSelect[int]:
    """Select a collection's key, or nothing if it is garbage.

    Garbage reads as empty.
    """
    return select(collections.c.key).where(collections.c.key == collection, LIVE).scalar_subquery()


def add_collection(connection: Connection, **values: Any) -> int:
    """Add an empty collection; return its key."""
    row = {"token": uuid4().hex, "revision": 0, "floor": 0, "copied": 0} | values
    key: int = connection.execute(
        insert(collections).returning(collections.c.key), row
    ).scalar_one()
    return key


def advance(connection: Connection, collection: Collection, count: int) -> int:
    """Take at least one next revision of a collection; return the last.

    Call it once in a transaction: it marks the change. Other writers wait here.
    """
    assert count > 0, "a change has a revision"
    statement = (
        update(collections)
        .where(
            collections.c.key == collection.key, LIVE
        )  # no subquery: who has waited for the row looks at it again
        .values(revision=collections.c.revision + count)
        .returning(collections.c.revision)
    )
    revision: int | None = connection.execute(statement).scalar()
    if revision is None:
        raise error_of_replaced(collection)
    change = {"collection": collection.key, "revision": revision, "mark": uuid4().hex}
    connection.execute(insert(changes), change)
    return revision


def state_of(connection: Connection, collection: Collection) -> Row[Any]:
    """Read a collection's row; Replaced if it is gone."""
    condition = collections.c.key == key_if_live(collection.key)
    row = connection.execute(select(collections).where(condition)).one_or_none()
    if row is None:
        raise error_of_replaced(collection)
    return row


def read_revision(
    connection: PoolProxiedConnection, dialect: Dialect, collection: Collection
) -> int:
    """The revision of the newest change; Replaced if the collection is gone.

    Searches read it, so the driver does.
    """
    rows = _REVISION.fetch(connection, dialect, collection=collection.key)
    if not rows:
        raise error_of_replaced(collection)
    return int(rows[0][0])


_REVISION = DriverQuery(
    select(collections.c.revision).where(
        collections.c.key == key_if_live(bindparam("collection", type_=collections.c.key.type))
    )
)


def check_not_gone(connection: Connection, collection: Collection, rows: Found) -> Found:
    """Return the rows; Replaced if the collection is gone, and none left."""
    if not rows:
        state_of(connection, collection)
    return rows


def hold(connection: Connection, collection: Collection) -> None:
    """Lock a collection for writing until the transaction ends.

    Replaced if it is gone.
    SQLite has one writer at a time anyway.
    """
    statement = select(collections.c.key).where(collections.c.key == key_if_live(collection.key))
    if connection.execute(statement.with_for_update()).one_or_none() is None:
        raise error_of_replaced(collection)


def error_of_replaced(collection: Collection) -> Replaced:
    """Return the error for a collection that is gone."""
    return Replaced(
        f"collection {collection.name!r} no longer holds the bags of model "
        f"{collection.fingerprint} that it held: it was dropped, or another model has re-embedded "
        "it, or a snapshot was restored; open it again"
    )
