"""Notes on filters without hits: unknown keys and values, nearest ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from app.nearest import nearest, nearest_name
from index.conditions import (
    LONGEST_VALUE,
    Equals,
    Exists,
    Prefix,
    Scalar,
    Simple,
    Within,
    canonical,
    is_met,
    simple_parts,
)
from index.documents.documents import Schema
from index.filters import parse

MOST_NOTES = 10  # on keys, and on the values of a filter: it may have a thousand; keys looked at
MOST_VALUES = 10_000  # of a key that are looked through; of one with more, nothing is said
ValuesOf = Callable[[str, int], list[Scalar]]


def note_unknown_keys(
    keys: Iterable[str], known: Collection[str], example: Callable[[str], Any] = lambda _: None
) -> list[str]:
    """Write notes about metadata keys missing from `known`.

    `example` gives what an item has under a key that is not known, None if none has it.
    """
    unknown = islice((key for key in keys if key not in known), MOST_NOTES)
    return [_note_unknown(key, known, example) for key in unknown]


def note_unused(fields: Iterable[str], boosts: Iterable[str], schema: Schema) -> list[str]:
    """Write notes about weights without words, and boosts without numbers."""
    return [
        f"fields: no item has words in {name!r:.100}{nearest(name, schema.fields, 'field')}."
        for name in fields
        if name not in schema.fields
    ] + [
        f"boosts: no item has a number under {key!r:.100}; a filter boosts by other values."
        for key in boosts
        if key in schema.keys - schema.numeric
    ]


def note_unknown_values(
    where: Mapping[str, Any] | None, known: Collection[str], values: ValuesOf
) -> list[str]:
    """Write notes about a filter's values without items, under known keys.

    `values` gives the different values under a key, up to so many; it is asked for few keys.
    """
    parts = [part for part in simple_parts(parse(where)) if part.key in known]
    by_key: dict[str, dict[Simple, None]] = {}
    for part in parts:
        if not isinstance(part, Exists):
            by_key.setdefault(part.key, {})[part] = None
    notes = (
        note
        for key in islice(by_key, MOST_NOTES)
        for note in _note_unmatched(by_key[key], values(key, MOST_VALUES + 1))
    )
    return list(islice(notes, MOST_NOTES))


def doubt(probabilities: Iterable[float | None], weak_below: float | None, like: str) -> str | None:
    """Write the doubt about unlikely hits; None for a likely one."""
    known = [probability for probability in probabilities if probability is not None]
    if weak_below is None or not known or max(known) >= weak_below:
        return None
    return f"Nothing here {like} that; these are the nearest."


def _note_unknown(key: str, known: Collection[str], example: Callable[[str], Any]) -> str:
    for name in dict.fromkeys((key, key.partition(".")[0])):  # "size.height" is in "size"
        value = None if name in known else example(name)
        if value is not None:
            return _explain_none(name, value)
    return f"No item has {key!r:.100} in its metadata{nearest(key, known)}."


def _explain_none(key: str, value: Any) -> str:
    """Explain, by one item's value, why a key cannot be compared."""
    start = f"Items have {key!r:.100}, but filters, facets and orders compare"
    values = value if isinstance(value, list) else [value]
    inner = next((inner for part in values if isinstance(part, Mapping) for inner in part), None)
    if inner is not None:
        flat = f"{key}_{inner}"
        return (
            f"{start} nothing that is nested: send it as a key of its own, such as {flat!r:.100}."
        )
    return f"{start} only numbers, true, false, null and texts of up to {LONGEST_VALUE} characters."


def _note_unmatched(parts: Iterable[Simple], values: list[Scalar]) -> Iterator[str]:
    """Write notes about conditions on a key without matching items."""
    if 0 < len(values) <= MOST_VALUES:
        for part in parts:
            yield from _note_unmet(part, values)


def _note_unmet(part: Simple, values: list[Scalar]) -> Iterator[str]:
    match part:
        case Equals(key, asked):
            present = {canonical(value) for value in values}
            for text in asked:
                if text not in present:
                    hint = _hint_nearest(text, values)
                    yield f"No item has {text:.100} under {key!r:.100}{hint}."
        case Prefix(key, text) if not any(is_met(part, value) for value in values):
            other = next(filter(None, (_match_start(text, value) for value in values)), None)
            hint = "" if other is None else f"; some start with {canonical(other)}: case counts"
            yield f"No item has a text under {key!r:.100} that starts with {canonical(text)}{hint}."
        case Within(key):
            kinds = (int, float) if part.numeric else (str,)
            if not any(isinstance(value, kinds) for value in values):
                kind, example = "number" if part.numeric else "text", canonical(values[0])
                yield f"No item has a {kind} under {key!r:.100}: {example:.100} is none."


def _hint_nearest(asked: str, values: list[Scalar]) -> str:
    """End a sentence about an unknown value with the nearest one.

    And how it differs.
    """
    of_name = {canonical(value).strip('"'): canonical(value) for value in reversed(values)}
    name = nearest_name(asked.strip('"'), of_name)
    if name is None:
        return ""
    text, differs = of_name[name], ""
    if text.casefold() == asked.casefold():
        differs = ": case counts"
    elif name.casefold() == asked.strip('"').casefold():
        differs = ", a text" if text.startswith('"') else ", which is no text"
    return f"; the nearest value is {text:.100}{differs}"


def _match_start(text: str, value: Scalar) -> str | None:
    """Find the start of a value equal to a text, ignoring case."""
    if isinstance(value, str) and value.casefold().startswith(text.casefold()):
        return value[: len(text)]
    return None
