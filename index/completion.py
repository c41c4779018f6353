"""Completion: texts that go on where a typed one stops, by how many items each would find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from index.documents import Documents
from index.lexical import Alternative
from index.terms import fold, stem

LOOKED_AT = 64  # of the words that begin alike, those that most documents have


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, and how many items have all of its words."""

    text: str
    items: int


def complete(documents: Documents, text: str, count: int) -> list[Completion]:
    """The completions of a text's last word that find most items; under the documents' lock."""
    having = documents.live
    start = text.rfind(" ") + 1
    for word in documents.wording.read(text[:start]):
        having &= documents.lexical.having_any(word.alternatives)
    found: dict[str, Completion] = {}
    for completed in documents.wording.complete(text, LOOKED_AT):
        term = stem(fold(completed[start:]))
        if term not in found:  # of words with one stem, the most frequent
            items = having & documents.lexical.having_any([Alternative(term)])
            found[term] = Completion(completed, int(np.count_nonzero(items)))
    ranked = sorted(found.values(), key=lambda one: (-one.items, one.text))
    return [one for one in ranked if one.items][:count]
