"""Values of JSON: obvious conversions, and refusals with the value's place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Set
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

Part = TypeVar("Part")

DEEPEST = 100  # objects and lists within each other; the service takes 50
HALF_OF_PAIR = re.compile("[\ud800-\udfff]")
KINDS = "OUbfiu"  # of numpy's arrays: objects, texts, booleans and numbers


def write_json(value: Any, name: str = "") -> str:
    """Return JSON of a value; errors as those of convert."""
    return json.dumps(convert(value, name))


def convert(value: Any, place: str = "", depth: int = 0) -> Any:
    """Return a value in JSON's own types.

    Decimals and numbers of numpy become numbers, dates ISO 8601, arrays, tuples and sets lists,
    these sorted; whole numbers as keys become texts. TypeError or ValueError with the place, such
    as `metadata.sizes[2]`, for other types, numbers that are not finite, decimals that a number
    would round, and texts with half of a surrogate pair.

    >>> convert({"price": Decimal("9.50"), "day": date(2026, 5, 1), "colours": {"red", "blue"}})
    {'price': 9.5, 'day': '2026-05-01', 'colours': ['blue', 'red']}
    """
    if depth > DEEPEST:
        raise ValueError(f"{place:.80}… is over {DEEPEST} lists and mappings deep, or holds itself")
    match _unwrap_array(value, place):
        case None | bool() | int() as plain:
            return plain
        case str() as text:
            return str.__str__(check_text(text, place))  # the value of an enum
        case float() | Decimal() as number:
            return _convert_number(number, place)
        case date() as day if day == day:  # unlike pandas.NaT
            return day.isoformat()
        case Mapping() as mapping:
            return _convert_mapping(mapping, place, depth)
        case list() | tuple() | Set() as parts:
            return _convert_parts(parts, place, depth)
    raise _refuse(type(value).__name__, place)


def convert_metadata(metadata: Any) -> dict[str, Any]:
    """Return metadata in JSON's own types; errors as those of convert."""
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata is a mapping of keys to values, not {metadata!r:.80}")
    return _convert_mapping(metadata, "metadata", 0)


def check_text(text: str, place: str) -> str:
    """Return a text; ValueError for half of a surrogate pair."""
    if not text.isascii() and (half := HALF_OF_PAIR.search(text)):
        raise ValueError(
            f"{place} has {half[0]!r} at position {half.start()}, half of a surrogate pair, which "
            "UTF-8 cannot express: decode or leave it out"
        )
    return text


def to_list(parts: Iterable[Part] | None, name: str) -> list[Part] | None:
    """Return a list, or None; TypeError for one text or mapping."""
    if isinstance(parts, str | bytes | bytearray | Mapping):
        raise TypeError(f"{name} is a list: give [{parts!r:.80}] instead of {parts!r:.80}")
    return None if parts is None else list(parts)


def _unwrap_array(value: Any, place: str) -> Any:
    """Unwrap numbers and arrays of numpy, pandas and torch."""
    if isinstance(value, type) or not (hasattr(value, "dtype") and hasattr(value, "tolist")):
        return value
    if getattr(value.dtype, "kind", "f") not in KINDS:
        raise _refuse(f"{value.dtype}", place)
    return value.tolist()


def _refuse(kind: str, place: str) -> TypeError:
    return TypeError(
        f"{place} is of the type {kind}, which is not JSON serializable: give texts, numbers, "
        "dates, booleans, None, or lists and mappings of them"
    )


def _convert_number(value: float | Decimal, place: str) -> int | float:
    finite = not (isinstance(value, Decimal) and value.is_snan())  # float() fails for these
    if not finite or not math.isfinite(number := float(value)):
        raise ValueError(
            f"{place} is {value}, which is not JSON compliant: give a finite number, or None"
        )
    if not isinstance(value, Decimal):
        return number
    if value == value.to_integral_value():
        return int(value)
    if value != Decimal(repr(number)):
        raise ValueError(f"{place} is {value}, which a number would round: give it as a text")
    return number


def _convert_mapping(mapping: Mapping[Any, Any], place: str, depth: int) -> dict[str, Any]:
    converted: dict[str, Any] = {}
    for key, value in mapping.items():
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise TypeError(f"{place or 'an object'} has the key {key!r:.80}: keys are texts")
        name = check_text(_write_key(key), f"a key of {place or 'an object'}")
        if name in converted:
            raise ValueError(f"{place or 'an object'} has the key {name!r:.80} twice")
        converted[name] = convert(value, f"{place}.{name}" if place else name, depth + 1)
    return converted


def _convert_parts(parts: Iterable[Any], place: str, depth: int) -> list[Any]:
    converted = [convert(part, f"{place}[{at}]", depth + 1) for at, part in enumerate(parts)]
    return sorted(converted, key=_rank) if isinstance(parts, Set) else converted


def _write_key(key: str | int) -> str:
    """Return a key as a text, for enums their values."""
    return str.__str__(key) if isinstance(key, str) else int.__repr__(key)


def _rank(part: Any) -> tuple[int, int | float, str]:
    """Order numbers by value, then texts, then other JSON."""
    if isinstance(part, str):
        return 1, 0, part
    if isinstance(part, int | float) and not isinstance(part, bool):
        return 0, part, ""
    return 2, 0, json.dumps(part)
