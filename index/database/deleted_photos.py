"""Deleted photos left out of imports, in the table of settings.

A row for each place: it survives a re-embedding, as it names the collection and no token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from uuid import uuid4

from sqlalchemy import Connection, Engine

from index.database import setting_rows
from index.items import Collection

PREFIX = "deleted/"  # of their names among settings
RESTORED = "restored/"  # of a row that tells those who follow folders of the last restoration


@dataclass(frozen=True, slots=True)
class DeletedPhoto:
    """A deleted photo of an import: place, stamp and digests.

    Without digests it is the file of this place alone.
    """

    id: str
    place: str
    stamp: str
    digests: tuple[str, ...]


def remember(connection: Connection, name: str, photo: DeletedPhoto) -> None:
    """Remember a photo of the collection of a name; a former one of its place goes."""
    setting_rows.put(connection, _name(name, photo.place), json.dumps(asdict(photo)))


def list_deleted(reader: Engine, collection: Collection) -> list[DeletedPhoto]:
    """List the remembered photos by place."""
    with reader.begin() as connection:
        rows = setting_rows.read_all(connection, _prefix(collection.name))
    return sorted(_parse(rows), key=lambda photo: photo.place)


def restore(writer: Engine, collection: Collection, ids: Set[str]) -> set[str]:
    """Let imports store photos of these ids again; return those that were left out.

    Deleted copies of them stay out by their places alone.
    """
    with writer.begin() as connection:
        deleted = _parse(setting_rows.read_all(connection, _prefix(collection.name)))
        photos = [photo for photo in deleted if photo.id in ids]
        contents = {photo.digests for photo in photos}
        for photo in deleted:
            if photo.id in ids:
                setting_rows.discard(connection, _name(collection.name, photo.place))
            elif photo.digests in contents:
                remember(connection, collection.name, replace(photo, digests=()))
        if photos:
            setting_rows.put(connection, f"{RESTORED}{_digest(collection.name)}", uuid4().hex)
    return {photo.id for photo in photos}


def read_restoration(reader: Engine, collection: Collection) -> str | None:
    """Read the id of the last restoration; None without one."""
    return setting_rows.read_by_driver(reader, f"{RESTORED}{_digest(collection.name)}")


def rename(connection: Connection, name: str, new: str) -> None:
    """Move the deletions of a collection to its new name."""
    rows = setting_rows.read_all(connection, _prefix(name))
    discard(connection, name)
    for photo in _parse(rows):
        remember(connection, new, photo)


def discard(connection: Connection, name: str) -> None:
    """Forget the deletions of a collection."""
    setting_rows.discard_all(connection, _prefix(name))
    setting_rows.discard(connection, f"{RESTORED}{_digest(name)}")


def transfer(source: Connection, target: Connection) -> None:
    """Replace all deletions of another database by these."""
    setting_rows.transfer(source, target, PREFIX)


def _parse(values: Iterable[str]) -> list[DeletedPhoto]:
    photos = (setting_rows.parse(value, DeletedPhoto) for value in values)
    return [photo for photo in photos if photo is not None]


def _prefix(name: str) -> str:
    return f"{PREFIX}{_digest(name)}/"


def _name(name: str, place: str) -> str:
    return f"{_prefix(name)}{_digest(place)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
