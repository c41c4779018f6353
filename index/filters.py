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

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, ge, gt, le, lt
from typing import Any, Literal

from index.items import NO_TEXT

LONGEST_VALUE = 200  # characters of a key or value: a filter compares categories, not prose
LONGEST_NUMBER = 300  # digits of a number in a range, all that a double can have
MOST_CONDITIONS = 64  # of a filter, nested ones included
MOST_VALUES = 1_000  # of a filter, over all keys
DEEPEST = 8  # nested filters

OPERATOR = re.compile(r"\$[a-z]+")  # no operator, but reserved for later ones

Number = int | float
LARGEST = 2**63  # a whole number from here on is rounded to a double
Scalar = str | int | float | bool | None
Bound = Literal["gt", "gte", "lt", "lte"]
BOUNDS: tuple[Bound, ...] = ("gt", "gte", "lt", "lte")
OPERATORS = (*BOUNDS, "prefix", "exists")
COMBINED = ("$and", "$or", "$not")


@dataclass(frozen=True, slots=True)
class Equals:
    """The key has one of some values, which are canonical texts."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The key has a number, or a text, within bounds."""

    key: str
    bounds: tuple[tuple[Bound, Number | str], ...]

    @property
    def numeric(self) -> bool:
        """Whether the bounds are numbers, not texts."""
        return not isinstance(self.bounds[0][1], str)

    def holds(self, value: Any) -> Any:
        """Compare a value, or each of an array's, with all bounds."""
        results = [COMPARISONS[name](value, bound) for name, bound in self.bounds]
        return reduce(and_, results)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The key has a text that starts with another."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Exists:
    """The key has a value."""

    key: str


@dataclass(frozen=True, slots=True)
class Every:
    """All of several conditions hold; without any, everything passes."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of several conditions holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A condition does not hold."""

    part: Condition


Simple = Equals | Within | Prefix | Exists
Condition = Simple | Every | Either | Not

COMPARISONS: dict[Bound, Any] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


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


def simple_parts(condition: Condition) -> Iterator[Simple]:
    """List the simple conditions within a condition."""
    if isinstance(condition, Every | Either):
        for part in condition.parts:
            yield from simple_parts(part)
    elif isinstance(condition, Not):
        yield from simple_parts(condition.part)
    else:
        yield condition


def canonical(value: str | float | bool | None) -> str:
    """Write equal values as one text.

    3 and 3.0 are equal, and so are "é" as one character and as two; 3, "3" and true are not.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(compose(value) if isinstance(value, str) else value, ensure_ascii=False)


def compose(text: str) -> str:
    """A text with each letter and its accents as one character, where there is one (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def describe(condition: Condition) -> str:
    """Write equal conditions in any order as one text.

    >>> describe(parse({"size": [3, 1.0, 3]})) == describe(parse({"size": [1, 3]}))
    True
    """
    match condition:
        case Equals(key, values):
            return json.dumps(["Equals", key, *sorted(set(values))])
        case Within(key, bounds):
            return json.dumps(
                ["Within", key, *sorted((name, canonical(at)) for name, at in bounds)]
            )
        case Prefix(key, text):
            return json.dumps(["Prefix", key, text])
        case Exists(key):
            return json.dumps(["Exists", key])
        case Not(part):
            return json.dumps(["Not", describe(part)])
        case Every(parts) | Either(parts):
            kind = type(condition).__name__
            return json.dumps([kind, *sorted({describe(part) for part in parts})])


def number_of(value: object) -> Number | None:
    """Convert a metadata value to a number for ranges, else None.

    Whole numbers stay exact, up to those that databases store in 64 bits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and -LARGEST < value < LARGEST:
        return value
    return float(value) if len(canonical(value)) <= LONGEST_NUMBER else None


def is_met(condition: Simple, value: Scalar) -> bool:
    """Return whether a condition holds for one value of its key."""
    match condition:
        case Equals(_, values):
            return canonical(value) in values
        case Within() if condition.numeric:
            number = number_of(value)
            return number is not None and bool(condition.holds(number))
        case Within():
            return isinstance(value, str) and bool(condition.holds(compose(value)))
        case Prefix(_, text):
            return isinstance(value, str) and compose(value).startswith(text)
        case Exists():
            return True


def is_comparable(value: object) -> bool:
    """Return whether filters can compare a metadata value."""
    if isinstance(value, str):
        return len(value) <= LONGEST_VALUE
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN
    return value is None or isinstance(value, int)


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
