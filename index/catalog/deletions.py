"""Deleted photos left out of imports, in the table of settings.

A row for each place: it survives a re-embedding, as it names the collection and no token.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, insert, select

from index.catalog.read_rows import chunks, picture_rows
from index.database.tables import items, settings
from index.items import Collection


@dataclass(frozen=True, slots=True)
class DeletedPhoto:
    """A deleted photo of an import: place, stamp and digests."""

    id: str
    place: str
    stamp: str
    digests: tuple[str, ...]


def remember(connection: Connection, collection: Collection, ids: Sequence[str]) -> None:
    """Remember the photos of imported items, before they are retired."""
    here = items.c.collection == collection.key
    columns = (items.c.id, items.c.revision, items.c.source, items.c.stamp)
    for part in chunks(ids):
        sourced = items.c.source.is_not(None) & items.c.stamp.is_not(None)
        rows = connection.execute(select(*columns).where(here, sourced, items.c.id.in_(part))).all()
        shown = picture_rows(connection, collection.key, [row.revision for row in rows])
        for row in rows:
            digests = tuple(picture["digest"] for picture in shown[row.revision])
            if digests:
                photo = DeletedPhoto(row.id, row.source, row.stamp, digests)
                _write(connection, collection.name, photo)


def list_deleted(reader: Engine, collection: Collection) -> list[DeletedPhoto]:
    """List the remembered photos by place."""
    with reader.begin() as connection:
        rows = connection.execute(select(settings.c.value).where(_rows_of(collection.name)))
        photos = [_read(value) for value in rows.scalars()]
    return sorted(photos, key=lambda photo: photo.place)


def forget(writer: Engine, collection: Collection, places: Sequence[str]) -> int:
    """Let imports store photos of these places again; return their number."""
    names = [_name(collection.name, place) for place in places]
    forgotten = 0
    with writer.begin() as connection:
        for part in chunks(names):
            forgotten += connection.execute(
                delete(settings).where(settings.c.name.in_(part))
            ).rowcount
    return forgotten


def rename(connection: Connection, name: str, new: str) -> None:
    """Move the deletions of a collection to its new name."""
    rows = connection.execute(select(settings.c.value).where(_rows_of(name))).scalars().all()
    discard(connection, name)
    for value in rows:
        _write(connection, new, _read(value))


def discard(connection: Connection, name: str) -> None:
    """Forget the deletions of a collection."""
    connection.execute(delete(settings).where(_rows_of(name)))


def _write(connection: Connection, name: str, photo: DeletedPhoto) -> None:
    row = {"name": _name(name, photo.place), "value": json.dumps(asdict(photo))}
    connection.execute(delete(settings).where(settings.c.name == row["name"]))
    connection.execute(insert(settings), row)


def _read(value: str) -> DeletedPhoto:
    fields: dict[str, Any] = json.loads(value)
    return DeletedPhoto(**fields | {"digests": tuple(fields["digests"])})


def _rows_of(name: str) -> Any:
    prefix = _prefix(name)
    return func.substr(settings.c.name, 1, len(prefix)) == prefix


def _prefix(name: str) -> str:
    return f"deleted/{_digest(name)}/"


def _name(name: str, place: str) -> str:
    return f"{_prefix(name)}{_digest(place)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
