"""Re-embedding: a collection moves to another model, and interruptions can resume.

The new bags grow in a nameless collection, which follows the old one's changes as an index
does. The old one serves and takes writes until the new one has caught up and takes its name, in
one transaction that touches these two rows only. The old one is garbage from then on, and its
items are deleted a few at a time; or it is kept under another name, where services of the old
model still find it. An interrupted call resumes after the last finished batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, exists, select, update

from index.catalog.catalog import Catalog
from index.catalog.names import (
    choose_former_name,
    keeping_planned,
    plan_keeping,
    record_former,
    release,
)
from index.catalog.read_rows import Values, picture_rows, read_entries, select_items
from index.catalog.revisions import add_collection, advance, error_of_replaced, state_of
from index.catalog.write_rows import record, retire, write
from index.database import curation
from index.database.tables import aliases, collections, items, retired
from index.items import Collection, Entry, check_dimension

Embed = Callable[[Sequence[Entry]], Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a collection in the revisions (after, until]."""

    after: int
    until: int
    entries: list[Entry]
    pictures: dict[str, list[Values]]  # rows of their pictures, by id
    gone: list[str]  # ids


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
    keep: bool = False,
) -> Collection:
    """Re-embed a collection with another model, and open it for that one.

    The replaced one is deleted before this returns, or by `Catalog.sweep` after an interruption.
    With `keep`, in this or an interrupted call, it stays under the name of `choose_former_name`.
    Raises NameConflict if that is taken at the start or the end: embedded items stay for the next
    call.

    `embed` returns entries with new bags and nothing else changed; its errors end the
    work, which the next call resumes. `progress` gets the numbers of finished and of all items.
    """
    old = catalog.names.find(name)
    if old.fingerprint == fingerprint:
        return old
    new = _begin(catalog, old, fingerprint, dimension, score, keep=keep)
    count, total = catalog.count(new), catalog.count(old)
    while not _take_over(catalog, old, new):
        changes = _read_changes(catalog, old, new, batch)
        _store(catalog, new, changes, embed(changes.entries) if changes.entries else [])
        count = min(count + len(changes.entries), total)  # items put meanwhile come on top
        progress(count, total)
    catalog.sweep_collections()
    # A collection dropped or renamed meanwhile is not made again.
    return catalog.names.of_model(name, fingerprint)


def _begin(
    catalog: Catalog,
    old: Collection,
    fingerprint: str,
    dimension: int,
    score: str,
    *,
    keep: bool = False,
) -> Collection:
    """Find or make the nameless collection of a model.

    An interrupted call may have left one.
    """
    properties = {"fingerprint": fingerprint, "dimension": dimension, "score": score}
    begun = collections.c.replaces == old.key
    with catalog.exclusive.begin() as connection:
        name = state_of(connection, old).name
        if name is None:
            raise error_of_replaced(old)
        if keep:
            choose_former_name(connection, name, old.fingerprint)  # fails now, not hours later
        obsolete = update(collections).where(begun, collections.c.fingerprint != fingerprint)
        connection.execute(obsolete.values(replaces=None))  # garbage from now on
        if connection.execute(select(collections.c.key).where(begun)).scalar() is None:
            add_collection(connection, replaces=old.key, **properties)
        row = connection.execute(select(collections).where(begun)).one()
        if keep:
            plan_keeping(connection, row.token)
    return Collection(row.key, row.token, old.name, fingerprint, dimension, score)


def _read_changes(catalog: Catalog, old: Collection, new: Collection, batch: int) -> Changes:
    """Read the next items to embed, and the deleted ids."""

    def read(connection: Connection) -> Changes:
        source, target = _read_row(connection, old), _read_row(connection, new)
        if source is None or target is None:  # another process has renamed, or dropped this
            return Changes(0, 0, [], {}, [])
        copied = target.copied
        later = select_items(old.key).where(items.c.revision > copied)
        rows = connection.execute(later.order_by(items.c.revision).limit(batch)).all()
        until = rows[-1].revision if len(rows) == batch else source.revision
        same = (items.c.collection == retired.c.collection) & (items.c.id == retired.c.id)
        gone = select(retired.c.id).where(
            retired.c.collection == old.key,
            retired.c.revision > copied,
            retired.c.revision <= until,
            ~exists().where(same),
        )
        ids = list(connection.execute(gone.distinct()).scalars())
        entries = read_entries(connection, old, rows, catalog.pictures)
        shown = picture_rows(connection, old.key, [row.revision for row in rows])
        return Changes(copied, until, entries, {row.id: shown[row.revision] for row in rows}, ids)

    return catalog.read_pictures(read)


def _store(catalog: Catalog, new: Collection, changes: Changes, entries: Sequence[Entry]) -> None:
    """Store the changes, unless another process was first."""
    check_dimension(new, entries)
    records = [record(entry, changes.pictures.get(entry.id)) for entry in entries]
    with catalog.exclusive.begin() as connection:
        row = _read_row(connection, new)
        if row is None or row.replaces is None or row.copied != changes.after:
            return
        if count := len(records) + len(changes.gone):
            first = advance(connection, new, count) - count + 1
            write(connection, new.key, first, records)
            following = first + len(records)
            gone = {item: following + place for place, item in enumerate(changes.gone)}
            retire(connection, new.key, gone)
        statement = update(collections).where(collections.c.key == new.key)
        connection.execute(statement.values(copied=changes.until))


def _take_over(catalog: Catalog, old: Collection, new: Collection) -> bool:
    """Move the name to the new collection if it is complete.

    It has every change of the old one then.
    Nothing is lost: `copied` rises in the transaction of the changes up to it, and
    no change of the old collection can come in between. Also True if another process has done
    it, or has begun to embed for a third model.
    """
    with catalog.exclusive.begin() as connection:
        source, target = _read_row(connection, old), _read_row(connection, new)
        if source is None or target is None or target.replaces is None:
            return True
        if target.copied != source.revision:
            return False
        rename = update(collections)
        former_name = _keep_former(connection, source, target)
        connection.execute(rename.where(collections.c.key == old.key).values(name=former_name))
        connection.execute(
            rename.where(collections.c.key == new.key).values(name=source.name, replaces=None)
        )
        moved = update(aliases).where(aliases.c.collection == old.key)
        connection.execute(moved.values(collection=new.key))
    return True


def _keep_former(connection: Connection, source: Row[Any], target: Row[Any]) -> str | None:
    """Choose the source's new name; None if it is not kept."""
    release(connection, source.token)  # an earlier kept one is no longer found through it
    if not keeping_planned(connection, target.token):
        return None
    name = choose_former_name(connection, source.name, source.fingerprint)
    record_former(connection, target.token, source.token)
    curation.copy(connection, source.name, name)
    return name


def _read_row(connection: Connection, collection: Collection) -> Row[Any] | None:
    condition = collections.c.key == collection.key
    return connection.execute(select(collections).where(condition)).one_or_none()
