"""Imported photos with their digests, times and series, and how far they were compared.

A series is a group of near-duplicates: its items have the same value of the key `series`. The
stamp of an item has the value that an import gave it; any other is its owner's, and stays.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from sqlalchemy import Connection, Select, delete, select

from index.database import setting_rows
from index.database.tables import facets, items, pictures, settings
from index.items import Collection

KEY = "series"
COMPARED = "compared/"  # begins names of settings
NAME = re.compile(r"[0-9a-f]{16}")  # of a series
NOTED = re.compile(r"[ ,]series=([0-9a-f]+)(?=,|$)")
# What its file tells in its stamp: see app.imports.file_metadata.memory. Others are never grouped.
DESCRIBED = "% %"
SIZES = re.compile(r"(?:^|\+)(\d+)-")
TOGETHER = 500  # revisions in one statement


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """An imported item that may be in a series: the digests of its photos, its time, its series.

    `taken` is local time as text, empty if it is not surely known.
    """

    revision: int
    digests: tuple[str, ...]
    taken: str = ""
    series: str | None = None


@dataclass(frozen=True, slots=True)
class SeriesMember:
    """An item of a series: `size` has the bytes of its files."""

    id: str
    revision: int
    size: int


def make_name() -> str:
    """Make the name of a new series."""
    return token_hex(8)


def is_name(key: str, value: object) -> bool:
    """Return whether a value of metadata names a series of an import: no word of anyone."""
    return key == KEY and isinstance(value, str) and NAME.fullmatch(value) is not None


def read_noted(stamp: str | None) -> str | None:
    """Return the series that an import gave an item, by its stamp.

    >>> read_noted("12-34 rating=2e03a7,series=09af")
    '09af'
    """
    match = NOTED.search(stamp or "")
    return match[1] if match else None


def note(stamp: str, series: str | None) -> str:
    """Write a series into a stamp instead of the one before.

    >>> note("12-34 rating=2e03a7,series=09af", "1b"), note("12-34 series=09af", None)
    ('12-34 rating=2e03a7,series=1b', '12-34 ')
    """
    state, _, noted = stamp.partition(" ")
    entries = [entry for entry in noted.split(",") if entry and not entry.startswith(f"{KEY}=")]
    return f"{state} {','.join(entries + ([f'{KEY}={series}'] if series else []))}"


def list_photos(connection: Connection, collection: Collection) -> list[SeriesRow]:
    """List the items that imports may put into series, by revision.

    Not those of which the owner has changed or removed the series.
    """
    digests = defaultdict[int, list[str]](list)
    noted = dict[int, str | None]()
    for revision, stamp, digest in connection.execute(_select_photos(collection)):
        digests[revision].append(digest)
        noted[revision] = read_noted(stamp)
    series = _read_values(connection, collection, KEY)
    taken = _read_values(connection, collection, "taken")
    unsure = _read_values(connection, collection, "taken_from", "file")
    return [
        SeriesRow(
            revision,
            tuple(digests[revision]),
            "" if revision in unsure else taken.get(revision, ""),
            name,
        )
        for revision, name in noted.items()
        if series.get(revision) == name
    ]


def list_ids(connection: Connection, collection: Collection, revisions: Sequence[int]) -> list[str]:
    """List the ids of items of some revisions."""
    ids = list[str]()
    for start in range(0, len(revisions), TOGETHER):
        part = items.c.revision.in_(revisions[start : start + TOGETHER])
        chosen = select(items.c.id).where(items.c.collection == collection.key, part)
        ids += connection.execute(chosen).scalars()
    return ids


def list_members(connection: Connection, collection: Collection) -> dict[str, list[SeriesMember]]:
    """List the items of each series that imports made, if it has several."""
    of_item = (items.c.collection == facets.c.collection) & (items.c.revision == facets.c.revision)
    chosen = (
        select(items.c.id, items.c.revision, items.c.stamp, facets.c.value)
        .join_from(items, facets, of_item)
        .where(facets.c.collection == collection.key, facets.c.key == KEY)
        .order_by(items.c.id)
    )
    members = defaultdict[str, list[SeriesMember]](list)
    for row in connection.execute(chosen):
        series = json.loads(row.value)
        if series == read_noted(row.stamp):
            members[series].append(SeriesMember(row.id, row.revision, _count_bytes(row.stamp)))
    return {series: of_it for series, of_it in members.items() if len(of_it) > 1}


def list_newer(connection: Connection, collection: Collection, after: int) -> list[tuple[str, int]]:
    """List the ids and revisions of items after a revision, in order."""
    newer = select(items.c.id, items.c.revision).where(
        items.c.collection == collection.key, items.c.revision > after
    )
    return [(row.id, row.revision) for row in connection.execute(newer.order_by(items.c.revision))]


def read_compared(connection: Connection, collection: Collection) -> int:
    """Read the revision up to which photos have been compared; 0 at first."""
    return int(setting_rows.read(connection, _name(collection)) or 0)


def write_compared(connection: Connection, collection: Collection, revision: int) -> None:
    """Note that photos have been compared up to a revision."""
    setting_rows.put(connection, _name(collection), str(revision))


def discard(connection: Connection, token: str) -> None:
    """Forget how far the photos of a collection were compared."""
    connection.execute(delete(settings).where(settings.c.name == f"{COMPARED}{token}"))


def _count_bytes(stamp: str) -> int:
    """Add up the sizes of files in a stamp.

    >>> _count_bytes("12-34+5-6-r2 series=1b")
    17
    """
    return sum(map(int, SIZES.findall(stamp.partition(" ")[0])))


def _select_photos(collection: Collection) -> Select[Any]:
    of_item = (items.c.collection == pictures.c.collection) & (
        items.c.revision == pictures.c.revision
    )
    chosen = select(items.c.revision, items.c.stamp, pictures.c.digest).join_from(
        items, pictures, of_item
    )
    described = items.c.source.is_not(None) & items.c.stamp.like(DESCRIBED)
    of_collection = items.c.collection == collection.key
    return chosen.where(of_collection, described).order_by(
        items.c.revision, pictures.c.position.desc()
    )


def _read_values(
    connection: Connection, collection: Collection, key: str, only: str | None = None
) -> dict[int, str]:
    """Read the texts of a key by revision; of several the last."""
    chosen = select(facets.c.revision, facets.c.value).where(
        facets.c.collection == collection.key, facets.c.key == key
    )
    if only is not None:
        chosen = chosen.where(facets.c.value == json.dumps(only))
    return {revision: f"{json.loads(value)}" for revision, value in connection.execute(chosen)}


def _name(collection: Collection) -> str:
    return f"{COMPARED}{collection.token}"
