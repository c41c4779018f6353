"""Re-embedding: a collection moves to another model without losing an item or a day's work.

The new bags grow in a collection without a name, which follows the old one's changes as an index
does. The old one serves and takes writes until the new one has caught up and takes its name, in
one transaction that touches these two rows only. The old one is garbage from then on, and its
items are deleted a few at a time; or it is kept under a name of its own, where services of the old
model still find it. An interruption at any moment resumes after the last finished batch.
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
from index.database.tables import aliases, collections, items, retired
from index.items import Collection, Entry, check_dimension

Embed = Callable[[Sequence[Entry]], Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a collection in the revisions (after, until]."""

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
    """Give a collection the bags of another model, and open it for that one.

    What it replaces is deleted before this returns, or by `Catalog.sweep` if it is interrupted.
    With `keep`, or if a call that was interrupted had it, it stays as it is then under the name of
    `free_name`. NameConflict if that is taken at the beginning, or in the end: what is embedded
    stays for the next call then.

    `embed` gives entries back with new bags and nothing else changed; what it raises ends the
    work, to be resumed by the next call. `progress` hears how many items are done, of how many.
    """
    old = catalog.names.find(name)
    if old.fingerprint == fingerprint:
        return old
    new = _begin(catalog, old, fingerprint, dimension, score, keep=keep)
    count, total = catalog.count(new), catalog.count(old)
    while not _take_over(catalog, old, new):
        changes = _read_changes(catalog, old, new, batch)
        _store(catalog, new, changes, embed(changes.entries) if changes.entries else [])
        count = min(count + len(changes.entries), total)  # what was put meanwhile comes on top
        progress(count, total)
    catalog.sweep_collections()
    # What was dropped or renamed meanwhile is not made again.
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
    """The nameless collection of an interrupted call for the same model, or a new one."""
    properties = {"fingerprint": fingerprint, "dimension": dimension, "score": score}
    begun = collections.c.replaces == old.key
    with catalog.exclusive.begin() as connection:
        name = state_of(connection, old).name
        if name is None:
            raise error_of_replaced(old)
        if keep:
            choose_former_name(connection, name, old.fingerprint)  # or say so now, not hours later
        obsolete = update(collections).where(begun, collections.c.fingerprint != fingerprint)
        connection.execute(obsolete.values(replaces=None))  # garbage from now on
        if connection.execute(select(collections.c.key).where(begun)).scalar() is None:
            add_collection(connection, replaces=old.key, **properties)
        row = connection.execute(select(collections).where(begun)).one()
        if keep:
            plan_keeping(connection, row.token)
    return Collection(row.key, row.token, old.name, fingerprint, dimension, score)


def _read_changes(catalog: Catalog, old: Collection, new: Collection, batch: int) -> Changes:
    """The next items to embed, and the ids that are gone."""

    def read(connection: Connection) -> Changes:
        source, target = _read_row(connection, old), _read_row(connection, new)
        if source is None or target is None:  # another process has taken over, or dropped this
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
    """Take the changes over, unless another process was first."""
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
    """Move the name to the new collection if it has every change of the old one.

    Nothing is lost then: `copied` rises with the changes up to it, in the same transaction, and
    no change of the old collection can come in between. True as well if another process has done
    it, or has begun to embed for a third model.
    """
    with catalog.exclusive.begin() as connection:
        source, target = _read_row(connection, old), _read_row(connection, new)
        if source is None or target is None or target.replaces is None:
            return True
        if target.copied != source.revision:
            return False
        rename = update(collections)
        kept_name = _keep_former(connection, source, target)
        connection.execute(rename.where(collections.c.key == old.key).values(name=kept_name))
        connection.execute(
            rename.where(collections.c.key == new.key).values(name=source.name, replaces=None)
        )
        moved = update(aliases).where(aliases.c.collection == old.key)
        connection.execute(moved.values(collection=new.key))
    return True


def _keep_former(connection: Connection, source: Row[Any], target: Row[Any]) -> str | None:
    """The name that the source has from now on; None if it is not to be kept."""
    release(connection, source.token)  # nobody finds through it what an earlier one has kept
    if not keeping_planned(connection, target.token):
        return None
    name = choose_former_name(connection, source.name, source.fingerprint)
    record_former(connection, target.token, source.token)
    return name


def _read_row(connection: Connection, collection: Collection) -> Row[Any] | None:
    condition = collections.c.key == collection.key
    return connection.execute(select(collections).where(condition)).one_or_none()
