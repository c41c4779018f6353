"""Checksums for rows of older versions, a few items at a time."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Row, exists, select, update

from index.bags import unpack_vectors
from index.catalog.catalog import Catalog
from index.catalog.read_rows import Values, picture_rows, select_items
from index.database.checksums import checksums_of
from index.database.tables import bags, items
from index.items import Collection

BATCH = 100  # items of a transaction that reads, and of one that writes


def lacks_checksums(catalog: Catalog) -> bool:
    """Return whether an item lacks checksums; may read all rows."""
    missing = select(exists().where(items.c.checksums.is_(None)))
    with catalog.reader.begin() as connection:
        return bool(connection.execute(missing).scalar_one())


class Filler:
    """Fills in the checksums of one collection's items, by their revisions.

    They vouch for the rows as they are now. An unreadable item gets none.
    """

    def __init__(self, catalog: Catalog, collection: Collection) -> None:
        self._catalog, self._collection = catalog, collection
        self._reached: int | None = 0  # None once all are filled in

    def step(self) -> bool:
        """Fill in those of a few items; False after the last."""
        if self._reached is None:
            return False
        checksums, self._reached = self._read(self._reached)
        if checksums:
            self._write(checksums)
        return self._reached is not None

    def _read(self, after: int) -> tuple[dict[int, bytes], int | None]:
        """Compute missing checksums by revision; also return the last revision read."""
        collection = self._collection.key
        missing = items.c.checksums.is_(None) & (items.c.revision > after)
        chosen = select_items(collection).where(missing).order_by(items.c.revision).limit(BATCH)
        with self._catalog.reader.begin() as connection:
            rows = connection.execute(chosen).all()
            revisions = [row.revision for row in rows]
            condition = (bags.c.collection == collection) & bags.c.revision.in_(revisions)
            stored: dict[int, list[Values]] = {revision: [] for revision in revisions}
            for bag in connection.execute(select(bags).where(condition)).mappings():
                stored[bag["revision"]].append(dict(bag))
            shown = picture_rows(connection, collection, revisions)
        checksums = {
            row.revision: checksums_of(row._mapping, shown[row.revision], stored[row.revision])
            for row in rows
            if self._is_whole(row, stored[row.revision], len(shown[row.revision]))
        }
        return checksums, revisions[-1] if len(revisions) == BATCH else None

    def _is_whole(self, item: Row[Any], stored: list[Values], photos: int) -> bool:
        """Return whether an item can be read, without torch."""
        positions = sorted(bag["position"] for bag in stored)
        if positions != list(range(-photos, -photos + len(positions))):
            return False
        try:
            json.loads(item.metadata)
            vectors = [unpack_vectors(bag["vectors"], self._collection.dimension) for bag in stored]
        except (ValueError, TypeError, RecursionError):
            return False
        return all(np.isfinite(numbers).all() for numbers in vectors)

    def _write(self, checksums: dict[int, bytes]) -> None:
        with self._catalog.writer.begin() as connection:
            for revision, value in checksums.items():
                row = (items.c.collection == self._collection.key) & (items.c.revision == revision)
                lacking = row & items.c.checksums.is_(None)
                connection.execute(update(items).where(lacking).values(checksums=value))
