"""Checks of items: metadata, facets, bags, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, delete, insert, select, update

from index.backup.checks.finding import CheckFinding, name_subject
from index.bags import unpack_bag, unpack_vectors
from index.catalog.catalog import Catalog
from index.catalog.edits import Change, patch
from index.catalog.facets import facets_of
from index.catalog.pictures import PictureLost
from index.catalog.read_rows import Values, picture_rows, read_texts, select_items
from index.conditions import compose
from index.database.checksums import checksums_of, restamp
from index.database.tables import bags, facets, items
from index.items import (
    Collection,
    ConditionFailed,
    Expected,
    bucket_of,
    forget_state,
    is_unread,
)
from index.metadata import read_metadata
from index.progress import Progress

BATCH = 200  # items that are read in one transaction
Facets = set[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ItemRows:
    """All rows of one item."""

    item: Row[Any]
    pictures: list[Values]
    bags: list[Row[Any]] = field(default_factory=list)  # in the order of their positions
    facets: Facets = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Writes the facets of an item again, if it still exists."""

    catalog: Catalog
    collection: int
    revision: int
    facets: Facets

    def __call__(self) -> None:
        """Write them in one transaction."""
        key = {"collection": self.collection, "revision": self.revision}
        conditions = {
            table: _here(table.c, self.collection, self.revision) for table in (items, facets)
        }
        with self.catalog.writer.begin() as connection:
            if connection.execute(select(items.c.id).where(conditions[items])).scalar() is None:
                return
            connection.execute(delete(facets).where(conditions[facets]))
            for name, value in self.facets:
                connection.execute(insert(facets), key | {"key": name, "value": value})


@dataclass(frozen=True, slots=True)
class Flatten:
    """Stores an item with its metadata as read, unless it has changed."""

    catalog: Catalog
    collection: Collection
    item: Row[Any]

    def __call__(self) -> None:
        """Store it under a new revision by an empty patch."""
        expected = Expected(frozenset({self.item.revision}), but=False)
        with suppress(ConditionFailed, LookupError):
            patch(self.catalog, self.collection, self.item.id, Change(), expected)


def forget_stamp(catalog: Catalog, collection: int, revision: int) -> None:
    """Let the next import of an item's file store it again, if the item still exists.

    The row stays, and so does what is damaged of it.
    """
    condition = _here(items.c, collection, revision)
    with catalog.writer.begin() as connection:
        item = connection.execute(select(items).where(condition)).one_or_none()
        if item is None or not _is_text(item.stamp):
            return
        shown = picture_rows(connection, collection, [revision])[revision]
        texts = read_texts(connection, collection, [revision])[revision]
        stamp = forget_state(item.stamp)
        checksums = restamp(item._asdict(), shown, texts, stamp)
        changed = {"stamp": stamp, "checksums": checksums}
        connection.execute(update(items).where(condition).values(changed))


def check_items(
    catalog: Catalog, collection: Collection, progress: Progress
) -> Iterator[CheckFinding]:
    """Check every item of a collection."""
    stage, total = f"items of {name_subject(collection)}", catalog.count(collection)
    checked, after = 0, 0
    progress(stage, checked, total)
    while batch := _read(catalog, collection.key, after):
        for rows in batch:
            yield from _check(catalog, collection, rows)
        after, checked = batch[-1].item.revision, checked + len(batch)
        progress(stage, min(checked, total), total)


def _check(catalog: Catalog, collection: Collection, rows: ItemRows) -> Iterator[CheckFinding]:
    item, subject = rows.item, name_subject(collection, rows.item.id)
    problems = list(_find_problems(rows, collection.dimension))
    if not problems and not _is_as_stored(rows):
        problems = ["it is not as it was stored: its checksums are of something else"]
    forget = partial(forget_stamp, catalog, collection.key, item.revision)
    for problem in problems:
        if _has_own_bucket(item):
            yield _advise("items", subject, item, problem, forget)
        else:  # an import would find its file under this id
            yield CheckFinding(
                "items", subject, f"{problem}; delete it, and put or import it again"
            )
    if not problems:  # else the facets may be right, and the item wrong
        yield from _check_metadata(catalog, collection, rows)
    for number, picture in enumerate(rows.pictures):
        if _is_lost(catalog, collection, item, picture["name"]):
            label = "picture" if len(rows.pictures) == 1 else f"picture {number}"
            yield _advise("pictures", subject, item, f"its {label} is missing or damaged", forget)


def _advise(
    part: str, subject: str, item: Row[Any], problem: str, forget: Callable[[], None]
) -> CheckFinding:
    """Tell how an item is stored again: by its file, or by who put it."""
    if not (_is_text(item.source) and _is_text(item.stamp)):
        return CheckFinding(part, subject, f"{problem}; put it again")
    if is_unread(item.stamp):
        return CheckFinding(part, subject, f"{problem}; import {item.source} again")
    return CheckFinding(part, subject, problem, forget, f"import {item.source} again")


def _is_text(value: object) -> bool:
    """Return whether a row's value is a text; a damaged one may be of another type."""
    return isinstance(value, str) and value != ""


def _check_metadata(
    catalog: Catalog, collection: Collection, rows: ItemRows
) -> Iterator[CheckFinding]:
    """Check that facets agree with sound metadata of allowed depth."""
    item, subject = rows.item, name_subject(collection, rows.item.id)
    metadata, notes = read_metadata(item.metadata)
    expected = facets_of(metadata)
    if {(key, compose(value)) for key, value in rows.facets} != expected:
        rebuild = Rebuild(catalog, collection.key, item.revision, expected)
        yield CheckFinding("items", subject, "filters do not agree with its metadata", rebuild)
    if notes:
        yield CheckFinding("items", subject, notes[0], Flatten(catalog, collection, item))


def _find_problems(rows: ItemRows, dimension: int) -> Iterator[str]:
    """List problems of an item's rows, without its facets."""
    item = rows.item
    try:
        facets_of(read_metadata(item.metadata)[0])
    except (ValueError, TypeError, AttributeError) as broken:
        yield f"its metadata is broken ({broken})"
    if not _has_own_bucket(item):
        yield "its bucket is another id's"
    if problem := _find_bag_problem(rows, dimension):
        yield problem


def _has_own_bucket(item: Row[Any]) -> bool:
    return isinstance(item.id, str) and bool(item.bucket == bucket_of(item.id))


def _is_as_stored(rows: ItemRows) -> bool:
    """Return whether an item's rows have their checksums, or none.

    Older rows have none.
    """
    item = rows.item._mapping
    if item["checksums"] is None:
        return True
    stored = [bag._mapping for bag in rows.bags]
    try:
        return bool(item["checksums"] == checksums_of(item, rows.pictures, stored))
    except (TypeError, AttributeError):  # a row whose types are damaged
        return False


def _find_bag_problem(rows: ItemRows, dimension: int) -> str | None:
    """Find a problem of an item's bags, else None."""
    positions = [bag.position for bag in rows.bags]
    first = -len(rows.pictures)
    if not positions or positions != list(range(first, first + len(positions))):
        return f"it has bags {positions}, which should begin with {first} and leave none out"
    for bag in rows.bags:
        try:
            vectors = unpack_vectors(bag.vectors, dimension)
            complete = len(unpack_bag(vectors, bag.details, bag.position).labels) == len(vectors)
        except (ValueError, TypeError, AssertionError) as broken:
            return f"bag {bag.position} is broken ({broken or 'its parts do not belong together'})"
        if not complete or not len(vectors) or not np.isfinite(vectors).all():
            return f"bag {bag.position} is broken"
    return None


def _is_lost(catalog: Catalog, collection: Collection, item: Row[Any], name: str) -> bool:
    """Return whether a picture is lost, and not deleted with its item."""
    try:
        catalog.pictures.get(name)
    except PictureLost:
        condition = _here(items.c, collection.key, item.revision)
        with catalog.reader.begin() as connection:
            return connection.execute(select(items.c.id).where(condition)).scalar() is not None
    return False


def _read(catalog: Catalog, collection: int, after: int) -> list[ItemRows]:
    """Read the rows of the next items after a revision."""
    chosen = select_items(collection).where(items.c.revision > after)
    with catalog.reader.begin() as connection:
        selected = connection.execute(chosen.order_by(items.c.revision).limit(BATCH)).all()
        shown = picture_rows(connection, collection, [item.revision for item in selected])
        rows = {item.revision: ItemRows(item, shown[item.revision]) for item in selected}
        if rows:
            _read_parts(connection, collection, rows)
    return list(rows.values())


def _read_parts(connection: Connection, collection: int, rows: dict[int, ItemRows]) -> None:
    order = (bags.c.revision, bags.c.position)
    for bag in connection.execute(
        select(bags).where(_within(bags.c, collection, rows)).order_by(*order)
    ):
        rows[bag.revision].bags.append(bag)
    for facet in connection.execute(select(facets).where(_within(facets.c, collection, rows))):
        rows[facet.revision].facets.add((facet.key, facet.value))


def _within(columns: Any, collection: int, rows: dict[int, ItemRows]) -> Any:
    return (columns.collection == collection) & columns.revision.in_(rows)


def _here(columns: Any, collection: int, revision: int) -> Any:
    return (columns.collection == collection) & (columns.revision == revision)
