"""Stored bags by revision and position: what has the last word on the best rows of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ARRAY,
    Dialect,
    FromClause,
    bindparam,
    column,
    func,
    select,
    values,
)
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.compiler import SQLCompiler

from index.bags import unpack_bag, unpack_together
from index.database.checksums import LOG, is_sound_bag
from index.items import Collection
from index.catalog.read_rows import chunks
from index.database.tables import bags, items
from models.types import FragmentBag

COLUMNS = ("revision", "position")  # of a key


@dataclass(frozen=True, slots=True)
class Bags:
    """Stored bags by revision and position, and the items of those that are damaged."""

    sound: dict[tuple[int, int], Stored]
    damaged: dict[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class Stored:
    """A bag as it is stored: vectors (F, D), and the rest in bytes."""

    item: str
    position: int
    vectors: NDArray[np.float32]
    details: bytes

    @property
    def bag(self) -> FragmentBag:
        """The bag itself."""
        return unpack_bag(self.vectors, self.details, self.position)


def read_bags(
    connection: PoolProxiedConnection,
    dialect: Dialect,
    collection: Collection,
    keys: Sequence[tuple[int, int]],
) -> Bags:
    """The stored bags with these revisions and positions.

    Those that were replaced or deleted are missing, and those that are not as they were stored are
    told apart. Every search does this, and SQLAlchemy's own
    work takes longer than the database's: so the driver is called, whose failures the caller
    translates.
    """
    stored: dict[tuple[int, int], Stored] = {}
    damaged: dict[tuple[int, int], str] = {}
    cursor = connection.cursor()
    for part in chunks(keys):
        statement = _bags_of(dialect, len(part))
        cursor.execute(statement.string, _parameters(statement, collection, part))
        rows = []
        for row in cursor.fetchall():
            revision, position, vectors, details, item, checksums = row
            if is_sound_bag(checksums, item, revision, position, details, vectors):
                rows.append(row)
            else:
                LOG.add(collection.key, revision, item)
                damaged[revision, position] = item
        unpacked = unpack_together([row[2] for row in rows], collection.dimension)
        for (revision, position, _, details, item, _), vectors in zip(rows, unpacked, strict=True):
            stored[revision, position] = Stored(item, position, vectors, details)
    return Bags(stored, damaged)


def _parameters(
    statement: SQLCompiler, collection: Collection, keys: Sequence[tuple[int, int]]
) -> Any:
    """The parameters of a statement of _bags_of, as the driver takes them."""
    order = statement.positiontup
    # PostgreSQL takes two arrays: hundreds of parameters would take longer than to look up.
    numbers: dict[str, Any] = (
        dict(zip(_names(len(keys)), chain.from_iterable(keys), strict=True))
        if order
        else dict(zip(COLUMNS, map(list, zip(*keys, strict=True)), strict=True))
    )
    numbers["collection"] = collection.key
    return tuple(numbers[name] for name in order) if order else numbers


@lru_cache(maxsize=64)
def _bags_of(dialect: Dialect, count: int) -> SQLCompiler:
    """The statement that reads the bags of so many keys, as the driver takes it.

    It joins a list of keys: of `IN` and a list of pairs, SQLite looks up nothing but the first.
    """
    keys = _arrays() if dialect.name == "postgresql" else _pairs(count)
    same_key = (bags.c.revision == keys.c.revision) & (bags.c.position == keys.c.position)
    columns = (bags.c.revision, bags.c.position, bags.c.vectors, bags.c.details)
    statement = (
        select(*columns, items.c.id, items.c.checksums)
        .select_from(keys)
        .join(bags, same_key)
        .join(items)
        .where(bags.c.collection == bindparam("collection"))
    )
    compiled = statement.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    return compiled


def _arrays() -> FromClause:
    """Keys as two arrays, whatever their number."""
    numbers = ARRAY(bags.c.revision.type)
    rows = func.unnest(*(bindparam(name, type_=numbers) for name in COLUMNS))
    return rows.table_valued(*COLUMNS, name="keys").render_derived()


def _pairs(count: int) -> FromClause:
    """So many keys as pairs of numbers."""
    names = (bindparam(name, type_=bags.c.revision.type) for name in _names(count))
    columns = (column(name, bags.c.revision.type) for name in COLUMNS)
    return values(*columns, name="keys").data(list(zip(names, names, strict=True))).cte("keys")


def _names(count: int) -> list[str]:
    return [f"{half}_{i}" for i in range(count) for half in COLUMNS]
