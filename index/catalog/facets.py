"""Facets: top-level values of metadata as rows, with filters as SQL."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Numeric,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import Text

from index.conditions import (
    COMPARISONS,
    LONGEST_NUMBER,
    LONGEST_VALUE,
    Condition,
    Either,
    Equals,
    Every,
    Not,
    Number,
    Prefix,
    Simple,
    Within,
    canonical,
    is_comparable,
)
from index.database.tables import facets, items
from index.filters import parse


def facets_of(metadata: Mapping[str, Any]) -> set[tuple[str, str]]:
    """List an item's (key, canonical value) pairs.

    A list has a pair for each value.
    """
    return {
        (key, canonical(value))
        for key, values in metadata.items()
        if len(key) <= LONGEST_VALUE
        for value in (values if isinstance(values, list | tuple) else [values])
        if is_comparable(value)
    }


def passing(collection: int, where: Mapping[str, Any]) -> ColumnElement[bool]:
    """Return the condition: a row of items passes a filter."""
    return _passes(collection, parse(where))


def carrying(collection: int, condition: Simple) -> Select[tuple[int]]:
    """Select revisions whose metadata meets a condition on one key, some repeatedly."""
    return select(facets.c.revision).where(
        facets.c.collection == collection, facets.c.key == condition.key, _match(condition)
    )


class text_of(GenericFunction[str]):  # noqa: N801 - the name of a function in SQL
    """The text of a canonical text, compared by code point."""

    type = Text()
    inherit_cache = True


@compiles(text_of, "sqlite")
def _text_in_sqlite(function: text_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_extract({compiler.process(function.clauses, **options)}, '$')"


@compiles(text_of, "postgresql")
def _text_in_postgresql(function: text_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"(({compiler.process(function.clauses, **options)})::json #>> '{{}}') COLLATE \"C\""


def _passes(collection: int, condition: Condition) -> ColumnElement[bool]:
    match condition:
        case Every(parts):
            return and_(True, *(_passes(collection, part) for part in parts))
        case Either(parts):
            return or_(False, *(_passes(collection, part) for part in parts))
        case Not(part):
            return ~_passes(collection, part)
        case _:
            return items.c.revision.in_(carrying(collection, condition))


def _match(condition: Simple) -> ColumnElement[bool]:
    """Return whether a condition holds for a facet row of its key."""
    value = facets.c.value
    match condition:
        case Equals(_, values):
            return value.in_([written for text in values for written in _ways_to_write(text)])
        case Within() if condition.numeric:
            # The check must come before the cast; databases guarantee this order only in "case".
            number = and_(
                func.substr(value, 1, 1).in_(list("-0123456789")),
                func.length(value) <= LONGEST_NUMBER,
            )
            return _compare(condition, case((number, cast(value, Numeric)), else_=None))
        case Within():
            text = func.substr(value, 1, 1) == '"'
            return _compare(condition, case((text, text_of(value)), else_=None))
        case Prefix(_, text):
            starts = [start[:-1] for start in _ways_to_write(canonical(text))]
            return or_(*(func.substr(value, 1, len(start)) == start for start in starts))
        case _:
            return facets.c.key == condition.key


def _ways_to_write(text: str) -> list[str]:
    """A canonical text, and with apart accents: catalogs of earlier versions have either."""
    return list(dict.fromkeys((text, unicodedata.normalize("NFD", text))))


def _compare(condition: Within, value: ColumnElement[Any]) -> ColumnElement[bool]:
    bounds = ((COMPARISONS[name], _type_bound(bound)) for name, bound in condition.bounds)
    return and_(*(compare(value, bound) for compare, bound in bounds))


def _type_bound(bound: Number | str) -> ColumnElement[Any]:
    """A bound with its own type: whole numbers are compared exactly."""
    if isinstance(bound, str):
        return literal(bound, Text())
    if isinstance(bound, int):
        return literal(bound, BigInteger())
    return literal(Decimal(repr(bound)), Numeric())
