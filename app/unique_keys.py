"""JSON without duplicate keys, as readers differ in the value they choose."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from index.metadata import DEEPEST

LONGEST_NUMBER = 4_300  # digits that Python turns into an integer, as it takes their square in time


class KeyTwice(ValueError):
    """An object has a key twice."""


def read(text: str | bytes) -> Any:
    """Read JSON with unique keys.

    ValueError if it is invalid or too deep, KeyTwice for a duplicate key.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except KeyTwice:
        raise
    except RecursionError:
        raise ValueError(f"it is nested far more than {DEEPEST} deep; flatten it") from None
    except ValueError as odd:
        if isinstance(odd, json.JSONDecodeError | UnicodeDecodeError):
            raise
        raise ValueError(f"a number has more than {LONGEST_NUMBER:,} digits") from odd


def check(text: str | bytes) -> None:
    """Raise KeyTwice for a duplicate key in valid JSON."""
    json.loads(text, object_pairs_hook=_object, parse_int=str)  # int() refuses thousands of digits


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise KeyTwice(f"the key {twice!r:.100} is there twice in one object; send it once")
    return fields
