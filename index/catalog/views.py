"""Views: the contents and changes of a collection as of one revision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, func, literal, select

from index.catalog.facets import carrying
from index.catalog.read_rows import read_items
from index.conditions import Scalar, Simple
from index.database.checksums import LOG, is_sound_bag
from index.database.storage import ALL, Buckets
from index.database.tables import bags, changes, facets, items, retired
from index.metadata import read_metadata

CHUNK = 2**27  # bytes
LATEST = 1_000  # items whose metadata is searched for a key
EXAMPLES = 20  # of these, items that are read


@dataclass(frozen=True, slots=True)
class BagRow:
    """The vectors of one stored bag.

    Of a photo, with a position below 0, or of a sentence.
    """

    revision: int
    position: int
    vectors: bytes


@dataclass(frozen=True, slots=True)
class ItemRow:
    """The metadata and sentences of a stored item."""

    revision: int
    id: str
    metadata: dict[str, Any]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadItems:
    """The stored items up to a revision.

    damaged: the ids of those that are not as they were stored, by revision; `rows` lacks them.
    """

    rows: list[ItemRow]
    damaged: dict[int, str]
    reached: int


@dataclass(frozen=True, slots=True)
class CatalogView:
    """A collection as of one revision, inside one read transaction.

    Retirements up to revision `floor` were forgotten: `retired(after)` is complete for `after` of
    `floor` and later. A reader with an older state compares it with `revisions()`.
    `bags` returns bags of items in `buckets` only; the rest is of the whole collection.
    """

    connection: Connection
    collection: int
    revision: int
    floor: int
    buckets: Buckets = ALL

    def mark(self, revision: int) -> str | None:
        """Read the random mark of the first change from a revision on.

        None if there is no such change.
        Data derived from the collection up to a revision, with a note of its mark, belongs to this
        history if the mark is still the same: a database restored from a backup gives
        changes after the backup other marks. Marks before `floor` may be deleted (see
        `Catalog.purge`); then another mark is returned, as for another history.
        """
        chosen = select(changes.c.mark).where(
            changes.c.collection == self.collection, changes.c.revision >= revision
        )
        mark: str | None = self.connection.execute(
            chosen.order_by(changes.c.revision).limit(1)
        ).scalar()
        return mark

    def revisions(self) -> NDArray[np.int64]:
        """List the revisions of all items, in order."""
        return self._numbers(
            select(items.c.revision)
            .where(items.c.collection == self.collection)
            .order_by(items.c.revision)
        )

    def list_retired(self, after: int) -> NDArray[np.int64]:
        """List the revisions that changes after `after` replaced or deleted.

        Raises ValueError for an `after` before `floor`.
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

    def carrying(self, condition: Simple | None, after: int) -> NDArray[np.int64]:
        """The revisions later than `after` with a condition on one key.

        They come in order.
        All of them without a condition; some may come more than once.
        """
        if condition is None:
            chosen, revision = select(items.c.revision), items.c.revision
            chosen = chosen.where(items.c.collection == self.collection)
        else:
            chosen, revision = carrying(self.collection, condition), facets.c.revision
        return self._numbers(chosen.where(revision > after).order_by(revision))

    def bags(self, after: int, until: int, size: int = CHUNK) -> tuple[list[BagRow], int]:
        """The bags of items put later than `after`, by revision and position.

        Damaged ones are left out. They end with revision `until`, or sooner once there are `size`
        bytes of them. The second value is the revision up to which they are complete.
        """
        columns = (bags.c.revision, bags.c.position, bags.c.vectors)
        chosen = (
            select(*columns, bags.c.details, items.c.id, items.c.checksums)
            .join(items)
            .where(
                bags.c.collection == self.collection,
                bags.c.revision > after,
                bags.c.revision <= until,
            )
            .order_by(bags.c.revision, bags.c.position)
        )
        if self.buckets != ALL:
            condition = items.c.bucket.between(self.buckets.first, self.buckets.end - 1)
            chosen = chosen.where(condition)
        rows: list[BagRow] = []
        filled = 0
        # Rows are of some 10 KB.
        with self.connection.execute(chosen, execution_options={"yield_per": 256}) as stream:
            for row in stream:
                if filled >= size and row.revision != rows[-1].revision:
                    return rows, rows[-1].revision
                if self._is_sound(row):
                    rows.append(BagRow(row.revision, row.position, row.vectors))
                    filled += len(row.vectors)
        return rows, until

    def items(self, after: int, count: int) -> ReadItems:
        """Read the first `count` items after revision `after`."""
        chosen = select(items).where(
            items.c.collection == self.collection, items.c.revision > after
        )
        rows = self.connection.execute(chosen.order_by(items.c.revision).limit(count)).all()
        damaged = set[str]()
        read = [
            ItemRow(item.revision, item.id, item.metadata, item.sentences)
            for item in read_items(self.connection, self.collection, rows, damaged)
        ]
        left_out = {row.revision: row.id for row in rows if row.id in damaged}
        return ReadItems(read, left_out, rows[-1].revision if len(rows) == count else self.revision)

    def keys(self) -> list[str]:
        """List the metadata keys of items."""
        in_collection = facets.c.collection == self.collection
        least = select(func.min(facets.c.key).label("key")).where(in_collection)
        steps = least.cte("steps", recursive=True)
        # One look at the index for each key, instead of at all values; one statement for all.
        later = select(func.min(facets.c.key)).where(in_collection, facets.c.key > steps.c.key)
        further = select(later.correlate(steps).scalar_subquery())
        steps = steps.union_all(further.where(steps.c.key.is_not(None)))
        chosen = select(steps.c.key).where(steps.c.key.is_not(None))
        return list(self.connection.execute(chosen).scalars())

    def values(self, key: str, most: int) -> list[Scalar]:
        """List up to `most` different values under a key, unordered."""
        of_key = (facets.c.collection == self.collection, facets.c.key == key)
        least = select(func.min(facets.c.value).label("value"), literal(1).label("number"))
        steps = least.where(*of_key).cte("steps", recursive=True)
        # One look at the index for each value, instead of at all items that have it.
        later = select(func.min(facets.c.value)).where(*of_key, facets.c.value > steps.c.value)
        further = select(later.correlate(steps).scalar_subquery(), steps.c.number + 1).where(
            steps.c.value.is_not(None), steps.c.number < most
        )
        steps = steps.union_all(further)
        chosen = select(steps.c.value).where(steps.c.value.is_not(None))
        return [json.loads(value) for value in self.connection.execute(chosen).scalars()]

    def example(self, key: str) -> Any:
        """Find a late item's value of a key without comparable values.

        None without one.
        """
        latest = (
            select(items.c.metadata)
            .where(items.c.collection == self.collection)
            .order_by(items.c.revision.desc())
            .limit(LATEST)
            .subquery()
        )
        text = latest.c.metadata
        named = text.contains(f"{json.dumps(key, ensure_ascii=False)}:", autoescape=True)
        # Some may have the key nested in another value.
        texts = self.connection.execute(select(text).where(named).limit(EXAMPLES)).scalars()
        return next((about[key] for about in map(_read_metadata, texts) if key in about), None)

    def _is_sound(self, row: Any) -> bool:
        """Return whether a bag is sound; log a damaged one."""
        place = (row.revision, row.position, row.details, row.vectors)
        sound = is_sound_bag(row.checksums, row.id, *place)
        if not sound:
            LOG.add(self.collection, row.revision, row.id)
        return sound

    def _numbers(self, query: Select[tuple[int]]) -> NDArray[np.int64]:
        return np.fromiter(self.connection.execute(query).scalars(), np.int64)


def _read_metadata(text: str) -> dict[str, Any]:
    """Read metadata for searches; empty if damaged.

    Showing the item reports the damage.
    """
    try:
        return read_metadata(text)[0]
    except ValueError:
        return {}
