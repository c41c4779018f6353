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
    completions: dict[str, Completion] = {}
    for completed in documents.wording.complete(text, LOOKED_AT):
        term = stem(fold(completed[start:]))
        if term not in completions:  # of words with one stem, the most frequent
            items = having & documents.lexical.having_any([Alternative(term)])
            completions[term] = Completion(completed, int(np.count_nonzero(items)))
    ranked = sorted(
        completions.values(), key=lambda completion: (-completion.items, completion.text)
    )
    return [completion for completion in ranked if completion.items][:count]
