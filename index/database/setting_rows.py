"""Rows of the table of settings, by name, and those of a collection's name."""

from __future__ import annotations

import json
import logging
from dataclasses import is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from sqlalchemy import ColumnElement, Connection, Engine, bindparam, delete, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from index.database.driver_query import DriverQuery, borrow
from index.database.tables import collections, settings
from index.items import Collection, Replaced

Made = TypeVar("Made")

log = logging.getLogger(__name__)

_VALUE = select(settings.c.value).where(settings.c.name == bindparam("name"))
_VALUE_BY_DRIVER = DriverQuery(_VALUE)


def read(connection: Connection, name: str) -> str | None:
    """Read a setting; None without one."""
    value: str | None = connection.execute(_VALUE, {"name": name}).scalar_one_or_none()
    return value


def read_by_driver(reader: Engine, name: str) -> str | None:
    """Read a setting that every search reads; None without one."""
    with borrow(reader) as connection:
        rows = _VALUE_BY_DRIVER.fetch(connection, reader.dialect, name=name)
    return rows[0][0] if rows else None


def put(connection: Connection, name: str, value: str) -> None:
    """Write a setting instead of the one before, in one statement."""
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    row = dialect.insert(settings).values(name=name, value=value)
    newer = {"value": row.excluded.value}
    connection.execute(row.on_conflict_do_update(index_elements=[settings.c.name], set_=newer))


def begins(prefix: str) -> ColumnElement[bool]:
    """Return the condition that a name begins so, in the same case."""
    return func.substr(settings.c.name, 1, len(prefix)) == prefix


def read_all(connection: Connection, prefix: str) -> list[str]:
    """Read the settings with a prefix, in no order."""
    rows = connection.execute(select(settings.c.value).where(begins(prefix)))
    return list(rows.scalars())


def parse(value: str, kind: type[Made]) -> Made | None:
    """Parse a setting's JSON; None, and a line in the log, for a damaged one."""
    try:
        return parse_strictly(value, kind)
    except ValueError as damage:
        _tell_damage(kind.__name__, str(damage))
        return None


def parse_strictly(value: str, kind: type[Made]) -> Made:
    """Parse a setting's JSON; ValueError, without its values, for another shape."""
    try:
        made: Made = _make(json.loads(value), kind)
    except (ValueError, TypeError, RecursionError) as damage:
        raise ValueError(f"{damage}") from None
    return made


def _make(value: Any, kind: Any) -> Any:
    """Make a dataclass, list, tuple, text or number of JSON; TypeError for another type."""
    kinds = get_args(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        make = cast("Any", kind)
        fields = _read_fields(make)
        known = {name: part for name, part in value.items() if name in fields}
        return make(**{name: _make(part, fields[name]) for name, part in known.items()})
    if get_origin(kind) in (list, tuple) and isinstance(value, list):
        return get_origin(kind)(_make(part, kinds[0]) for part in value)
    if get_origin(kind) is UnionType:
        return None if value is None else _make(value, kinds[0])
    if get_origin(kind) is Literal:
        fits = value in kinds
    elif kind in (int, float):
        fits = isinstance(value, int | kind) and not isinstance(value, bool)
    else:
        fits = kind in (str, bool) and isinstance(value, kind)
    if not fits:
        raise TypeError(f"a {type(value).__name__} is no {getattr(kind, '__name__', kind)}")
    return value


@lru_cache
def _read_fields(kind: type[Any]) -> dict[str, Any]:
    """The types of a dataclass's fields, by name."""
    return get_type_hints(kind)


@lru_cache  # once, and not at each reading
def _tell_damage(kind: str, reason: str) -> None:
    problem = "a setting is damaged (%s: %s) and passed over; `tessera check` names it"
    log.error(problem, kind, reason)


def discard(connection: Connection, name: str) -> int:
    """Delete a setting; return the number of deleted rows."""
    return connection.execute(delete(settings).where(settings.c.name == name)).rowcount


def discard_all(connection: Connection, prefix: str) -> None:
    """Delete the settings with a prefix."""
    connection.execute(delete(settings).where(begins(prefix)))


def transfer(source: Connection, target: Connection, prefix: str) -> list[str]:
    """Replace another database's settings with a prefix by these; return their names."""
    rows = [dict(row) for row in source.execute(select(settings).where(begins(prefix))).mappings()]
    discard_all(target, prefix)
    if rows:
        target.execute(insert(settings), rows)
    return [row["name"] for row in rows]


def lock_name(connection: Connection, collection: Collection) -> str | None:
    """Read a collection's name, locked for a change; None if it is gone."""
    named = select(collections.c.name).where(collections.c.key == collection.key).with_for_update()
    name: str | None = connection.execute(named).scalar_one_or_none()
    return name


def require_name(connection: Connection, collection: Collection) -> str:
    """Read a collection's name, locked for a change; Replaced if it is gone."""
    name = lock_name(connection, collection)
    if name is None:
        raise Replaced(f"collection {collection.name!r} was dropped or replaced")
    return name
