"""The language of filters: conditions on metadata, parsed into values.

A filter is a JSON object. Its keys are metadata keys, all of which must hold:

    {"colour": "red"}                         equals
    {"colour": ["red", "blue"]}               equals any
    {"price": {"gte": 10, "lt": 50}}          within a range of numbers, or of texts such as dates
    {"title": {"prefix": "Nike"}}             starts with a text
    {"stock": {"exists": true}}               has any value, or none (false)
    {"$or": [{...}, {...}], "$not": {...}}    any of several filters; not a filter

A metadata key whose value is a list has each of its values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from index.conditions import (
    BOUNDS,
    LONGEST_NUMBER,
    LONGEST_VALUE,
    Bound,
    Condition,
    Either,
    Equals,
    Every,
    Exists,
    Not,
    Number,
    Prefix,
    Within,
    canonical,
    compose,
    is_comparable,
    number_of,
    simple_parts,
)
from index.items import NO_TEXT

MOST_CONDITIONS = 64  # of a filter, nested ones included
MOST_VALUES = 1_000  # of a filter, over all keys
DEEPEST = 8  # nested filters

OPERATOR = re.compile(r"\$[a-z]+")  # no operator, but reserved for later ones

OPERATORS = (*BOUNDS, "prefix", "exists")
COMBINED = ("$and", "$or", "$not")


def parse(where: Mapping[str, Any] | None) -> Condition:
    """Parse a filter; ValueError for an invalid or too large one."""
    condition = _parse({} if where is None else where, 0)
    parts, simple = _count(condition), simple_parts(condition)
    values = sum(len(part.values) for part in simple if isinstance(part, Equals))
    if parts > MOST_CONDITIONS or values > MOST_VALUES:
        raise ValueError(
            f"a filter has up to {MOST_CONDITIONS} conditions and {MOST_VALUES:,} values in all, "
            f"got {parts:,} and {values:,}"
        )
    return condition


def _count(condition: Condition) -> int:
    """Count simple conditions; a nested empty filter counts as one."""
    match condition:
        case Every(parts) | Either(parts):
            return sum(map(_count, parts)) or 1
        case Not(part):
            return _count(part)
        case _:
            return 1


def _parse(where: object, depth: int) -> Condition:
    if not isinstance(where, Mapping):
        raise ValueError(f"a filter is an object of metadata keys, got {where!r:.100}")
    if depth > DEEPEST:
        raise ValueError(f"a filter has up to {DEEPEST} levels of nested filters")
    parts = tuple(_parse_entry(key, value, depth) for key, value in where.items())
    return parts[0] if len(parts) == 1 else Every(parts)


def _parse_entry(key: object, value: Any, depth: int) -> Condition:
    if not isinstance(key, str) or not 1 <= len(key) <= LONGEST_VALUE or NO_TEXT.search(key):
        raise ValueError(
            f"a filter's keys are metadata keys, text of 1 to {LONGEST_VALUE} characters, got "
            f"{key!r:.100}"
        )
    if key == "$not":
        return Not(_parse(value, depth + 1))
    if key in ("$and", "$or"):
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f"{key} takes a list of filters, at least one, got {value!r:.100}")
        parts = tuple(_parse(part, depth + 1) for part in value)
        return Every(parts) if key == "$and" else Either(parts)
    if OPERATOR.fullmatch(key):
        raise ValueError(f"a filter has no operator {key!r:.50}; there are {', '.join(COMBINED)}")
    if isinstance(value, Mapping):
        return _parse_operators(key, value)
    listed = value if isinstance(value, list | tuple) else [value]
    return Equals(key, tuple(canonical(_check_comparable(key, element)) for element in listed))


def _parse_operators(key: str, operators: Mapping[str, Any]) -> Condition:
    """Parse a key's object of operators, all of which must hold."""
    if not operators or not operators.keys() <= set(OPERATORS):
        raise ValueError(
            f"filter {key!r:.100} takes {', '.join(OPERATORS)}, got {', '.join(operators)!r:.99}"
        )
    parts: list[Condition] = []
    bounds = tuple((name, operators[name]) for name in BOUNDS if name in operators)
    if bounds:
        parts.append(Within(key, _check_one_kind(key, bounds)))
    if "prefix" in operators:
        text = operators["prefix"]
        if not isinstance(text, str) or not text or not _is_asked(text):
            raise ValueError(f"filter {key!r:.100}: prefix takes a text, got {text!r:.100}")
        parts.append(Prefix(key, compose(text)))
    if "exists" in operators:
        exists = operators["exists"]
        if not isinstance(exists, bool):
            raise ValueError(f"filter {key!r:.100}: exists is true or false, got {exists!r:.100}")
        parts.append(Exists(key) if exists else Not(Exists(key)))
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _check_one_kind(
    key: str, bounds: tuple[tuple[Bound, Any], ...]
) -> tuple[tuple[Bound, Number | str], ...]:
    numbers = [isinstance(at, int | float) and not isinstance(at, bool) for _, at in bounds]
    texts = [isinstance(at, str) for _, at in bounds]
    if not (all(numbers) or all(texts)) or not all(_is_asked(at) for _, at in bounds):
        shown = ", ".join(f"{at!r:.50}" for _, at in bounds)
        raise ValueError(f"filter {key!r:.100}: a range has numbers or texts, got {shown}")
    if all(texts):
        return tuple((name, compose(text)) for name, text in bounds)
    return tuple((name, _parse_number(key, at)) for name, at in bounds)


def _parse_number(key: str, value: Any) -> Number:
    number = number_of(value)
    if number is None:
        raise ValueError(
            f"filter {key!r:.100}: a range's numbers have up to {LONGEST_NUMBER} digits"
        )
    return number


def _check_comparable(key: str, value: Any) -> Any:
    if not _is_asked(value):
        raise ValueError(
            f"filter {key!r:.100} compares with text of up to {LONGEST_VALUE} characters, a "
            "finite number, true, false or null, a list of these, or an object of "
            f"{', '.join(OPERATORS)}; got {value!r:.100}"
        )
    return value


def _is_asked(value: object) -> bool:
    """Return whether databases can compare with a value."""
    return is_comparable(value) and not (isinstance(value, str) and NO_TEXT.search(value))
