"""Fields that name things: titles, brands and kinds, and no prose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from index.documents.documents import Documents
from index.documents.bm25 import Alternative
from index.documents.words import fold, stem

FIELDS: Mapping[str, float] = {"title": 2.0, "name": 2.0, "description": 0.5}  # others weigh 1
LONGEST_NAME = 10.0  # words that a field has on average which names something, and is no prose


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


def is_named(documents: Documents, words: Iterable[str]) -> bool:
    """Whether an item has all of some words in a field that names it."""
    terms = [Alternative(stem(fold(word))) for word in words]
    with documents.lock:
        for field in naming_fields(documents):
            having = documents.live
            for term in terms:
                having &= documents.lexical.having_any([term], [field])
            if having.any():
                return True
    return False
