"""Stored bags, read by the database's driver: every search reads some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ARRAY, Dialect, FromClause, bindparam, column, func, select, values
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.compiler import SQLCompiler

from index.bags import unpack_bag, unpack_joined
from index.database.checksums import LOG, is_sound_bag
from index.database.tables import bags, items
from index.items import Collection
from models.types import FragmentBag

CHUNK = 500  # keys in one statement
COLUMNS = ("revision", "position")  # of a key


@dataclass(frozen=True, slots=True)
class StoredBags:
    """Sound bags by revision and position, and the items of damaged ones.

    The sound bags' vectors are rows offsets[b : b + 2] of vectors (N, D).
    """

    sound: dict[tuple[int, int], StoredBag]
    damaged: dict[tuple[int, int], str]
    vectors: NDArray[np.float32]
    offsets: NDArray[np.int64]


class StoredBag(NamedTuple):  # no dataclass: every search makes some
    """A stored bag: vectors (F, D), and the rest in bytes."""

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
) -> StoredBags:
    """Read the stored bags with these revisions and positions.

    Replaced or deleted ones are missing, and damaged ones are listed separately. SQLAlchemy's own
    work would take longer than the database's. So the driver is called directly, and the caller
    translates its errors.
    """
    sound: list[Any] = []
    damaged: dict[tuple[int, int], str] = {}
    cursor = connection.cursor()
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        statement = _compile(dialect, len(part))
        # PostgreSQL takes two arrays: hundreds of parameters would take longer than to look up.
        cursor.execute(
            statement.string,
            (*chain.from_iterable(part), collection.key)
            if statement.positional
            else dict(zip(COLUMNS, map(list, zip(*part, strict=True)), strict=True))
            | {"collection": collection.key},
        )
        for row in cursor.fetchall():
            revision, position, vectors, details, item, checksums = row
            if is_sound_bag(checksums, item, revision, position, details, vectors):
                sound.append(row)
            else:
                LOG.add(collection.key, revision, item)
                damaged[revision, position] = item
    joined, ends = unpack_joined([row[2] for row in sound], collection.dimension)
    stored = {
        (revision, position): StoredBag(item, position, joined[start:end], details)
        for (revision, position, _, details, item, _), start, end in zip(
            sound, ends, ends[1:], strict=False
        )
    }
    return StoredBags(stored, damaged, joined, np.array(ends, np.int64))


@lru_cache(maxsize=64)
def _compile(dialect: Dialect, count: int) -> SQLCompiler:
    """Compile the statement that reads the bags of `count` keys.

    It joins a list of keys: with `IN` and a list of pairs, SQLite looks up only their first
    numbers. Parameters by place are the keys' numbers, then the collection.
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
    assert not compiled.positional or (compiled.positiontup or [""])[-1] == "collection"
    return compiled


def _arrays() -> FromClause:
    """Keys as two arrays, of any number."""
    numbers = ARRAY(bags.c.revision.type)
    rows = func.unnest(*(bindparam(name, type_=numbers) for name in COLUMNS))
    return rows.table_valued(*COLUMNS, name="keys").render_derived()


def _pairs(count: int) -> FromClause:
    """`count` keys as pairs of numbers."""
    kind = bags.c.revision.type
    names = (bindparam(f"{half}_{i}", type_=kind) for i in range(count) for half in COLUMNS)
    columns = (column(name, kind) for name in COLUMNS)
    return values(*columns, name="keys").data(list(zip(names, names, strict=True))).cte("keys")
