"""JSON in which no object has a key twice: readers differ in which of its values counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from index.metadata import DEEPEST


class KeyTwice(ValueError):
    """An object has a key twice."""


def read(text: str | bytes) -> Any:
    """What JSON says; ValueError for what is none, or is nested too deep to be read; KeyTwice."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError(f"it is nested far more than {DEEPEST} deep; flatten it") from None


def check(text: str | bytes) -> None:
    """KeyTwice, in JSON that is known to be valid."""
    json.loads(text, object_pairs_hook=_object, parse_int=str)  # int() refuses thousands of digits


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise KeyTwice(f"the key {twice!r:.100} is there twice in one object; send it once")
    return fields
