"""Curation of collections: synonyms, pins, a language, in the table of settings.

Rows of a collection are named by its name, so that they survive a re-embedding. `version` is
another one after every change, so that readers look at the others only then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, get_args
from uuid import uuid4

from sqlalchemy import Connection, Engine

from index.database import setting_rows
from index.items import Collection

Kind = Literal["synonyms", "pins", "language"]  # the last a list of its code
PREFIX = "curation/"


@dataclass(frozen=True, slots=True)
class PinRow:
    """The items that come first for a text, as a row has them."""

    text: str
    ids: list[str]


SHAPES: dict[str, type[list[Any]]] = {
    "synonyms": list[list[str]],
    "pins": list[PinRow],
    "language": list[str],
}


def write(writer: Engine, collection: Collection, kind: Kind, value: list[Any]) -> None:
    """Replace a part of a curation; on disk when this returns.

    Replaced if the collection was dropped or re-embedded meanwhile.
    """
    with writer.begin() as connection:
        # Locked, so that two changes at the same time follow each other.
        name = setting_rows.require_name(connection, collection)
        setting_rows.put(connection, _prefix(name) + kind, json.dumps(value))
        setting_rows.put(connection, _prefix(name) + "version", uuid4().hex)


def read(reader: Engine, collection: Collection, kind: Kind) -> list[Any]:
    """Read a part of a collection's curation; empty for none, or a damaged one."""
    with reader.begin() as connection:
        value = setting_rows.read(connection, _prefix(collection.name) + kind)
    if value is None or setting_rows.parse(value, SHAPES[kind]) is None:
        return []
    return list(json.loads(value))


def read_version(reader: Engine, collection: Collection) -> str | None:
    """Read the version of a collection's curation; None for nothing."""
    return setting_rows.read_by_driver(reader, _prefix(collection.name) + "version")


def copy(connection: Connection, name: str, new: str) -> None:
    """Curate another collection alike."""
    discard(connection, new)
    for part in (*get_args(Kind), "version"):
        value = setting_rows.read(connection, _prefix(name) + part)
        if value is not None:
            setting_rows.put(connection, _prefix(new) + part, value)


def discard(connection: Connection, name: str) -> None:
    """Forget the curation of a collection."""
    setting_rows.discard_all(connection, _prefix(name))


def transfer(source: Connection, target: Connection) -> None:
    """Replace all curations of another database by these."""
    setting_rows.transfer(source, target, PREFIX)


def _prefix(name: str) -> str:
    return f"{PREFIX}{blake2b(name.encode(), digest_size=16).hexdigest()}/"
