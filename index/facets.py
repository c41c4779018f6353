"""Metadata filters: top-level values as canonical text, equal to a value or any of a list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Select, select

from index.tables import facets, items

LONGEST_VALUE = 200  # characters of a key or value: a filter names categories, it searches no prose


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


def conditions(where: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The keys of a filter with the canonical values of which each may have any.

    Raises ValueError for what cannot be compared.
    """
    for key, values in where.items():
        if not isinstance(key, str) or not 1 <= len(key) <= LONGEST_VALUE:
            raise ValueError(
                f"a filter's keys are metadata keys, text of 1 to {LONGEST_VALUE} characters, got "
                f"{key!r:.100}"
            )
        listed = values if isinstance(values, list | tuple) else [values]
        for value in listed:
            if not _comparable(value):
                raise ValueError(
                    f"filter {key!r} compares with text of up to {LONGEST_VALUE} characters, a "
                    f"finite number, true, false or null, or a list of these, got {value!r:.100}"
                )
        yield key, [canonical(value) for value in listed]


def _comparable(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_VALUE
    if isinstance(value, float):
        return value - value == 0  # neither infinite nor NaN
    return value is None or isinstance(value, int)
