"""Conditions on metadata: values to compare with, and whether they hold."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_, ge, gt, le, lt
from typing import Any, Literal

LONGEST_VALUE = 200  # characters of a key or value: a filter compares categories, not prose
LONGEST_NUMBER = 300  # digits of a number in a range, all that a double can have

Number = int | float
LARGEST = 2**63  # a whole number from here on is rounded to a double
Scalar = str | int | float | bool | None
Bound = Literal["gt", "gte", "lt", "lte"]
BOUNDS: tuple[Bound, ...] = ("gt", "gte", "lt", "lte")


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

    >>> describe(Equals("size", ("3", "1", "3"))) == describe(Equals("size", ("1", "3")))
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
