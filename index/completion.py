"""Completion: texts that go on where a typed one stops, by how many items each would find.

A typed text goes on by a word, or by a whole value of metadata such as "sour cream". Both are taken
from fields that name things: titles, brands, kinds. What prose says by the way is no suggestion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from index.columns import Column, Mask
from index.documents import Documents
from index.lexical import Alternative
from index.product_requests import FIELDS
from index.terms import fold, stem, words

LOOKED_AT = 64  # of the words that begin alike, those that most documents have
LONGEST_VALUE = 4  # words of a value that a text goes on by
VALUES = 16  # of the values of a key that begin alike
MOST_VALUES = 2_000  # of a key whose values are looked through: each letter that is typed does so
LONGEST_NAME = 10.0  # words that a field has on average which names something, and is no prose


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, and how many items have all of its words where things are named."""

    text: str
    items: int


def complete(documents: Documents, text: str, count: int) -> list[Completion]:
    """The completions of a text that find most items; under the documents' lock."""
    fields = naming_fields(documents)
    found = {completion.text: completion for completion in _values(documents, text, fields)}
    for completion in _words(documents, text, fields):
        found.setdefault(completion.text, completion)
    ranked = sorted(found.values(), key=lambda completion: (-completion.items, completion.text))
    whole = [completion for completion in ranked if not _goes_on(completion, ranked)]
    return [completion for completion in whole if completion.items][:count]


def naming_fields(documents: Documents) -> list[str]:
    """The fields that name things; all of them in a collection that has nothing but prose.

    No names are: a description, sentences, long texts, addresses, and a value that all items share.
    """
    lengths = documents.lexical.mean_lengths()
    naming = [
        field
        for field, length in lengths.items()
        if FIELDS.get(field, 1.0) > 1.0
        or (
            field != "sentences"
            and FIELDS.get(field, 1.0) == 1.0
            and length <= LONGEST_NAME
            and _tells_apart(documents, field)
        )
    ]
    return naming or list(lengths)


def _tells_apart(documents: Documents, field: str) -> bool:
    """Whether a field has several values, and no addresses; ids are in no column."""
    column = documents.columns.get(field)
    if column is None or len(documents) == 1:
        return True
    return len(column.values) > 1 and "://" not in str(column.values[0])


def _words(documents: Documents, text: str, fields: Sequence[str]) -> Iterator[Completion]:
    """The completions by a word, the most frequent one of those with one stem."""
    start = text.rfind(" ") + 1
    having = _having(documents, text[:start], fields)
    stems = set[str]()
    for completed in documents.wording.complete(text, LOOKED_AT, fields):
        term = stem(fold(completed[start:]))
        if term not in stems:
            stems.add(term)
            items = having & documents.lexical.having_any([Alternative(term)], fields)
            yield Completion(completed, int(np.count_nonzero(items)))


def _values(documents: Documents, text: str, fields: Sequence[str]) -> Iterator[Completion]:
    """The completions by a value of a few words, which all or the last of those typed begin."""
    columns = [documents.columns[field] for field in fields if field in documents.columns]
    starts = [0, *(at + 1 for at, sign in enumerate(text) if sign == " ")]
    for start in starts:
        before, begun = text[:start], _folded(text[start:])
        if not begun:
            continue
        having, typed = _having(documents, before, fields), set(_folded(before).split())
        for value in {value for column in columns for value in _begun(column, begun, having)}:
            if typed.isdisjoint(_folded(value).split()):
                items = having & _having(documents, value, fields)
                yield Completion(before + value.lower(), int(np.count_nonzero(items)))


def _begun(column: Column, begun: str, having: Mask) -> list[str]:
    """The values of a few words that begin alike, those that most of some documents have."""
    if len(column.values) > MOST_VALUES:
        return []
    texts = [
        (code, value)
        for code, value in enumerate(column.values)
        if isinstance(value, str)
        and 0 < value.count(" ") < LONGEST_VALUE
        and _folded(value).startswith(begun)
    ]
    if not texts:
        return []
    counts = column.counts(having)
    ranked = sorted((-int(counts[code]), value) for code, value in texts if counts[code])
    return [value for _, value in ranked[:VALUES]]


def _having(documents: Documents, text: str, fields: Sequence[str]) -> Mask:
    """Which documents are live and have all words of a text in some fields."""
    having = documents.live
    for word in documents.wording.read(text):
        having &= documents.lexical.having_any(word.alternatives, fields)
    return having


def _goes_on(completion: Completion, others: Sequence[Completion]) -> bool:
    """Whether another one says more and finds as many items."""
    longer = completion.text + " "
    return any(
        other.items >= completion.items and other.text.startswith(longer) for other in others
    )


@lru_cache(2**15)
def _folded(text: str) -> str:
    """A text's words as they are compared."""
    return " ".join(word.folded for word in words(text))
