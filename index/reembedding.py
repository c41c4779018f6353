"""How a collection moves to another model without losing an item or a day's work.

The new bags grow in a collection without a name, which follows the old one's changes as an index
does. The old one serves and takes writes until the new one has caught up and takes its name, in
one transaction. An interruption at any moment resumes after the last finished batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, delete, func, select, update

from index.catalog import Catalog, add_collection, advance
from index.items import Collection, Entry
from index.records import check_dimension, read_entries, retire, select_items, write_entry
from index.tables import collections, items, retired

Embed = Callable[[Sequence[Entry]], Sequence[Entry]]


def reembed(
    catalog: Catalog,
    name: str,
    *,
    fingerprint: str,
    dimension: int,
    score: str,
    embed: Embed,
    progress: Callable[[int, int], None],
    batch: int = 32,
) -> Collection:
    """Give a collection the bags of another model, and open it for that one.

    `embed` gives entries back with new bags and nothing else changed; what it raises ends the
    work, to be resumed by the next call. `progress` hears how many items are done, of how many.
    """
    old = catalog.find(name)
    if old.fingerprint == fingerprint:
        return old
    new = _begin(catalog, old, fingerprint, dimension, score)
    while not _take_over(catalog, old, new):
        copied, entries, gone = _changes(catalog, old, new, batch)
        _store(catalog, new, copied, embed(entries) if entries else [], gone)
        total = catalog.count(old)
        progress(min(catalog.count(new), total), total)  # deletions are taken over last
    return catalog.collection(name, fingerprint=fingerprint, dimension=dimension, score=score)


def _begin(
    catalog: Catalog, old: Collection, fingerprint: str, dimension: int, score: str
) -> Collection:
    """The nameless collection of an interrupted call for the same model, or a new one."""
    wanted = {"fingerprint": fingerprint, "dimension": dimension, "score": score}
    begun = collections.c.replaces == old.key
    with catalog.writer.begin() as connection:
        unfinished = delete(collections).where(begun, collections.c.fingerprint != fingerprint)
        connection.execute(unfinished)
        if connection.execute(select(collections.c.key).where(begun)).scalar() is None:
            add_collection(connection, replaces=old.key, **wanted)
        row = connection.execute(select(collections).where(begun)).one()
    return Collection(row.key, row.token, old.name, fingerprint, dimension, score)


def _changes(
    catalog: Catalog, old: Collection, new: Collection, batch: int
) -> tuple[int, list[Entry], list[str]]:
    """The next items to embed, the ids that are gone, and up to which revision that is."""
    with catalog.reader.begin() as connection:
        copied = _number(connection, new, "copied")
        later = select_items(old.key).where(items.c.revision > copied)
        rows = connection.execute(later.order_by(items.c.revision).limit(batch)).all()
        until = rows[-1].revision if len(rows) == batch else _number(connection, old, "revision")
        there = select(items.c.id).where(items.c.collection == old.key)
        gone = select(retired.c.id).where(
            retired.c.collection == old.key,
            retired.c.revision > copied,
            retired.c.revision <= until,
            retired.c.id.not_in(there),
        )
        ids = list(connection.execute(gone.distinct()).scalars())
        return until, read_entries(connection, old, rows), ids


def _store(
    catalog: Catalog, new: Collection, copied: int, entries: Sequence[Entry], gone: list[str]
) -> None:
    check_dimension(new, entries)
    with catalog.writer.begin() as connection:
        for entry in entries:
            write_entry(connection, new.key, advance(connection, new, 1), entry)
        for item in gone:
            retire(connection, new.key, advance(connection, new, 1), item)
        this = update(collections).where(collections.c.key == new.key)
        connection.execute(this.values(copied=copied))


def _take_over(catalog: Catalog, old: Collection, new: Collection) -> bool:
    """Replace the old collection if nothing in it has changed since the last batch."""
    with catalog.writer.begin() as connection:
        if _number(connection, new, "copied") != _number(connection, old, "revision"):
            return False
        assert _count(connection, old) == _count(connection, new), "an item got lost"
        this = update(collections).where(collections.c.key == new.key)
        connection.execute(this.values(replaces=None))
        connection.execute(delete(collections).where(collections.c.key == old.key))
        connection.execute(this.values(name=old.name))
    return True


def _number(connection: Connection, collection: Collection, column: str) -> int:
    here = collections.c.key == collection.key
    number: int = connection.execute(select(collections.c[column]).where(here)).scalar_one()
    return number


def _count(connection: Connection, collection: Collection) -> int:
    here = items.c.collection == collection.key
    return connection.execute(select(func.count()).select_from(items).where(here)).scalar_one()
