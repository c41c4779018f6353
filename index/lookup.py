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
    Connection,
    Dialect,
    FromClause,
    bindparam,
    column,
    func,
    select,
    values,
)
from sqlalchemy.sql.compiler import SQLCompiler

from index.bags import unpack_bag, unpack_vectors
from index.items import Collection
from index.stored_items import chunks
from index.tables import bags, items
from models.types import FragmentBag

COLUMNS = ("revision", "position")  # of a key


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
    connection: Connection, collection: Collection, keys: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Stored]:
    """The stored bags with these revisions and positions.

    Those that were replaced or deleted are missing.
    """
    stored = {}
    for part in chunks(keys):
        statement = _bags_of(connection.dialect, len(part))
        order = statement.positiontup
        # PostgreSQL takes two arrays: hundreds of parameters would take longer than to look up.
        numbers: dict[str, Any] = (
            dict(zip(_names(len(part)), chain.from_iterable(part), strict=True))
            if order
            else dict(zip(COLUMNS, map(list, zip(*part, strict=True)), strict=True))
        )
        numbers["collection"] = collection.key
        # Every search does this, and to look the statement up takes longer than to execute it.
        rows = connection.exec_driver_sql(
            statement.string, tuple(numbers[name] for name in order) if order else numbers
        )
        for revision, position, vectors, details, item in rows.all():
            unpacked = unpack_vectors(vectors, collection.dimension)
            stored[revision, position] = Stored(item, position, unpacked, details)
    return stored


@lru_cache(maxsize=64)
def _bags_of(dialect: Dialect, count: int) -> SQLCompiler:
    """The statement that reads the bags of so many keys, as the driver takes it.

    It joins a list of keys: of `IN` and a list of pairs, SQLite looks up nothing but the first.
    """
    keys = _arrays() if dialect.name == "postgresql" else _pairs(count)
    same_key = (bags.c.revision == keys.c.revision) & (bags.c.position == keys.c.position)
    statement = (
        select(bags.c.revision, bags.c.position, bags.c.vectors, bags.c.details, items.c.id)
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
