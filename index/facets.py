"""Metadata filters: top-level values as canonical text, equal to a value or any of a list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, select

from index.items import NO_TEXT
from index.tables import facets, items

LONGEST_VALUE = 200  # characters of a key or value: a filter names categories, it searches no prose
MOST_KEYS = 32  # of a filter
MOST_VALUES = 1_000  # of a filter, those of all keys together


def facets_of(metadata: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The (key, canonical value) pairs an item answers to; a list answers to each of its values."""
    return {
        (key, canonical(value))
        for key, values in metadata.items()
        if len(key) <= LONGEST_VALUE
        for value in (values if isinstance(values, list | tuple) else [values])
        if _comparable(value)
    }


def canonical(value: str | float | bool | None) -> str:
    """One text for equal values: 3 and 3.0 are equal; 3, "3" and true are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False)


def canonical_filter(where: Mapping[str, Any] | None) -> str:
    """One text for filters that let the same through: order, repetition and 3.0 do not count.

    ValueError for what is no filter.

    >>> canonical_filter({"size": [3, 1.0, 3], "dry": True})
    '[["dry", ["true"]], ["size", ["1", "3"]]]'
    """
    pairs = conditions(where or {})
    return json.dumps(sorted([key, sorted(set(values))] for key, values in pairs))


def matching(collection: int, where: Mapping[str, Any]) -> Select[tuple[int]]:
    """Select the revisions whose metadata has, for every key, the value or any of the list."""
    selected = select(items.c.revision).where(items.c.collection == collection)
    for key, values in conditions(where):
        selected = selected.where(
            items.c.revision.in_(
                select(facets.c.revision).where(
                    facets.c.collection == collection,
                    facets.c.key == key,
                    facets.c.value.in_(values),
                )
            )
        )
    return selected


def conditions(where: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The keys of a filter with the canonical values of which each may have any.

    Raises ValueError for what cannot be compared, or is too much of it.
    """
    listed = {
        key: values if isinstance(values, list | tuple) else [values]
        for key, values in where.items()
    }
    keys, values = len(listed), sum(map(len, listed.values()))
    if keys > MOST_KEYS or values > MOST_VALUES:
        raise ValueError(
            f"a filter has up to {MOST_KEYS} keys and {MOST_VALUES:,} values in all, "
            f"got {keys:,} keys and {values:,} values"
        )
    return [
        (_checked(key), [canonical(_compared(key, value)) for value in listed[key]])
        for key in listed
    ]


def _checked(key: object) -> str:
    if not isinstance(key, str) or not 1 <= len(key) <= LONGEST_VALUE or NO_TEXT.search(key):
        raise ValueError(
            f"a filter's keys are metadata keys, text of 1 to {LONGEST_VALUE} characters, got "
            f"{key!r:.100}"
        )
    return key


def _compared(key: str, value: Any) -> Any:
    if not _comparable(value) or (isinstance(value, str) and NO_TEXT.search(value)):
        raise ValueError(
            f"filter {key!r:.100} compares with text of up to {LONGEST_VALUE} characters, a "
            f"finite number, true, false or null, or a list of these, got {value!r:.100}"
        )
    return value


def _comparable(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_VALUE
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN
    return value is None or isinstance(value, int)
