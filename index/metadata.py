"""Metadata as JSON text, and its limits of depth and size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

DEEPEST = 50  # nested objects and lists; .NET reads 64, and an answer adds some
MOST_VALUES = 10_000  # in the lists of an item's metadata; each is a row of the facets
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]', re.DOTALL)  # a text of JSON, or a bracket


def check_depth(metadata: Mapping[str, Any]) -> None:
    """Refuse metadata that is too deep; the ValueError names the key."""
    for key, value in metadata.items():
        if _exceeds(value, DEEPEST - 1):
            raise ValueError(
                f"metadata: {key!r:.100} has lists and objects more than {DEEPEST} deep, itself "
                "counted; flatten it, or send it as a text"
            )


def check_values(metadata: Mapping[str, Any]) -> None:
    """Refuse lists with more values than filters can look up."""
    values = sum(len(value) for value in metadata.values() if isinstance(value, list | tuple))
    if values > MOST_VALUES:
        raise ValueError(
            f"metadata: its lists have {values:,} values; {MOST_VALUES:,} at most are stored"
        )


def read_metadata(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read stored metadata, and notes on it.

    Values that are too deep become JSON text.
    Raises ValueError for damaged metadata.

    >>> read_metadata('{"a": [1]}')
    ({'a': [1]}, ())
    """
    brackets = text.count("[") + text.count("{")
    flat = text if brackets <= DEEPEST else _flatten(text)
    try:
        metadata = json.loads(flat)
    except (ValueError, RecursionError) as broken:
        raise ValueError(f"its metadata is damaged ({broken}); put it again") from broken
    if not isinstance(metadata, dict):
        raise ValueError("its metadata is damaged (it is no object); put it again")
    if flat == text:
        return metadata, ()
    return metadata, (f"its metadata is more than {DEEPEST} deep; what is deeper is a text here",)


def _exceeds(value: Any, most: int) -> bool:
    """Return whether a value is nested more than `most` deep.

    Without recursion.
    """
    layer = [value]
    for _ in range(most + 1):
        layer = [part for outer in layer for part in _parts(outer)]
        if not layer:
            return False
    return True


def _parts(value: Any) -> Iterable[Any]:
    """Return the parts of a list or object.

    An empty one has one part, None, to count it.
    """
    if isinstance(value, Mapping):
        return value.values() or (None,)
    return value or (None,) if isinstance(value, list | tuple) else ()


def _flatten(text: str) -> str:
    """Return JSON with texts for its deepest lists and objects."""
    parts, depth, copied, start = list[str](), 0, 0, 0
    for token in TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            start = token.start() if depth == DEEPEST + 1 else start
        elif token[0] in "]}":
            if depth == DEEPEST + 1:
                deep = json.dumps(text[start : token.end()], ensure_ascii=False)
                parts += [text[copied:start], deep]
                copied = token.end()
            depth -= 1
    return "".join((*parts, text[copied:]))
