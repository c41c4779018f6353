"""Views: what a collection holds and what changed in it, as of one revision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, and_, select

from index.facets import matching
from index.tables import bags, changes, facets, items, retired

# Rows that are held at a time: of 20 KB each, or of some 100 bytes.
BAGS, ITEMS = {"yield_per": 256}, {"yield_per": 5_000}


@dataclass(frozen=True, slots=True)
class BagRow:
    """One stored bag: the image's (position -1) or that of a sentence."""

    revision: int
    position: int
    item: str
    details: bytes
    vectors: bytes


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One stored item, with the (key, canonical value) pairs that filters compare, in order."""

    revision: int
    id: str
    facets: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class View:
    """A collection as of one revision, inside one read transaction.

    Retirements up to revision `floor` were forgotten: `retired(after)` is complete for `after` of
    `floor` and later. Who holds an older state of the collection compares it with `revisions()`.
    """

    connection: Connection
    collection: int
    revision: int
    floor: int

    def mark(self, revision: int) -> str | None:
        """The random mark of the first change at or after a revision, None if there is none.

        What was derived from the collection up to a revision, and notes its mark, belongs to this
        very history if the mark is still the same: a database restored from a backup gives the
        changes after the backup other marks. Marks from before `floor` may be deleted (see
        `Catalog.purge`); then another mark comes back, as if the history were another.
        """
        chosen = select(changes.c.mark).where(
            changes.c.collection == self.collection, changes.c.revision >= revision
        )
        mark: str | None = self.connection.execute(
            chosen.order_by(changes.c.revision).limit(1)
        ).scalar()
        return mark

    def revisions(self) -> NDArray[np.int64]:
        """The revisions of the items there are, in order."""
        return self._numbers(
            select(items.c.revision)
            .where(items.c.collection == self.collection)
            .order_by(items.c.revision)
        )

    def retired(self, after: int) -> NDArray[np.int64]:
        """The revisions that were replaced or deleted by a change later than `after`.

        ValueError for an `after` before `floor`.
        """
        if after < self.floor:
            raise ValueError(
                f"retirements up to revision {self.floor} were forgotten, and those after {after} "
                "were asked for: use revisions()"
            )
        return self._numbers(
            select(retired.c.was).where(
                retired.c.collection == self.collection, retired.c.revision > after
            )
        )

    def matching(self, where: Mapping[str, Any]) -> NDArray[np.int64]:
        """The revisions of the items that a metadata filter lets through."""
        return self._numbers(matching(self.collection, where))

    def bags(self, after: int, until: int | None = None) -> Iterator[BagRow]:
        """The bags of items put later than `after`, up to `until`, as a stream.

        They come by revision and position.
        """
        columns = (bags.c.revision, bags.c.position, items.c.id, bags.c.details, bags.c.vectors)
        stream = self.connection.execute(
            select(*columns)
            .join_from(bags, items)
            .where(bags.c.collection == self.collection, _within(bags.c.revision, after, until))
            .order_by(bags.c.revision, bags.c.position),
            execution_options=BAGS,
        )
        return (BagRow(*row) for row in stream)

    def items(self, after: int, until: int | None = None) -> Iterator[ItemRow]:
        """The items put later than `after`, up to `until`, by revision, as a stream."""
        stream = self.connection.execute(
            select(items.c.revision, items.c.id, facets.c.key, facets.c.value)
            .outerjoin_from(items, facets)
            .where(items.c.collection == self.collection, _within(items.c.revision, after, until))
            .order_by(items.c.revision, facets.c.key, facets.c.value),
            execution_options=ITEMS,
        )
        for (revision, item), rows in groupby(stream, key=lambda row: (row[0], row[1])):
            pairs = tuple((key, value) for _, _, key, value in rows if key is not None)
            yield ItemRow(revision, item, pairs)

    def _numbers(self, query: Select[tuple[int]]) -> NDArray[np.int64]:
        return np.fromiter(self.connection.execute(query).scalars(), np.int64)


def _within(column: ColumnElement[int], after: int, until: int | None) -> ColumnElement[bool]:
    return column > after if until is None else and_(column > after, column <= until)
