"""Wording: what the words of a query are taken for; typos, compounds and synonyms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log

from rapidfuzz import process
from rapidfuzz.distance import OSA

from index.lexical import Alternative, Lexical
from index.terms import Word, fold, stem, words
from models.lexicon import is_function_word

LEAST_LETTERS = 3  # of a word that is corrected, and of each half of a compound
TWO_EDITS = 8  # letters of a word in which two edits are corrected
OTHER_START = 1.0  # how many e-fold more documents a word with another first letter must have
SYNONYM = 0.9  # the weight of a synonym


Synonyms = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query, text[start:end], and the terms that it is looked up by, at least one.

    `spelling` is the known word that it was corrected to, or the two halves of a compound;
    `synonyms` are looked up beside it.
    """

    start: int
    end: int
    alternatives: tuple[Alternative, ...]
    spelling: str | None = None
    synonyms: tuple[str, ...] = ()


def parse_synonyms(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Synonyms of folded words, from lines such as "sofa, couch, settee"; # begins a comment."""
    groups = [
        [fold(word) for word in line.partition("#")[0].split(",") if fold(word)] for line in lines
    ]
    return {
        word: tuple(other for other in group if other != word) for group in groups for word in group
    }


class Wording:
    """Reads queries with the vocabulary of some documents."""

    def __init__(self, lexical: Lexical, synonyms: Synonyms | None = None) -> None:
        self._lexical, self._synonyms = lexical, synonyms or {}
        self._sorted: list[str] = []

    def read(self, text: str) -> tuple[QueryWord, ...]:
        """The words of a query that say something; function words are left out."""
        told = [word for word in words(text) if not is_function_word(word.folded)]
        read = [part for word in told for part in self._read(word)]
        for (first, second), (left, right) in zip(pairwise(read), pairwise(told), strict=False):
            joined = left.folded + right.folded
            if joined in self._lexical.vocabulary and len(read) == len(told):
                at = read.index(first)
                whole = Alternative(stem(joined))
                read[at] = replace(first, alternatives=(*first.alternatives, whole))
                read[at + 1] = replace(second, alternatives=(*second.alternatives, whole))
        return tuple(read)

    def corrected(self, text: str, read: Sequence[QueryWord]) -> str:
        """The text with the spellings that its words were corrected to."""
        for word in sorted({(one.start, one.end, one.spelling) for one in read}, reverse=True):
            start, end, spelling = word
            if spelling is not None:
                text = text[:start] + spelling + text[end:]
        return text

    def complete(self, text: str, count: int) -> list[str]:
        """Texts that go on where a text stops, by how many documents have their last word."""
        if len(self._sorted) != len(self._lexical.vocabulary):
            self._sorted = sorted(self._lexical.vocabulary)
        start = max(text.rfind(" ") + 1, 0)
        prefix = fold(text[start:])
        if not prefix:
            return []
        first = bisect_left(self._sorted, prefix)
        last = bisect_left(self._sorted, prefix + "\U0010ffff")
        ranked = sorted(
            self._sorted[first:last], key=lambda word: (-self._lexical.vocabulary[word], word)
        )
        return [text[:start] + self._lexical.spelling(word) for word in ranked[:count]]

    def _read(self, word: Word) -> list[QueryWord]:
        folded = word.folded
        if self._known(folded):
            read = self._word(word, [Alternative(stem(folded)), *self._synonymous(folded)])
            return [replace(read, synonyms=tuple(self._synonyms.get(folded, ())))]
        if halves := self._halves(folded):
            spelling = " ".join(halves)
            return [self._word(word, [Alternative(stem(half))], spelling) for half in halves]
        if nearest := self._nearest(folded):
            return [self._word(word, [Alternative(stem(nearest))], nearest)]
        return [self._word(word, [Alternative(stem(folded))])]

    def _word(
        self, word: Word, alternatives: Sequence[Alternative], spelling: str | None = None
    ) -> QueryWord:
        return QueryWord(word.start, word.end, tuple(alternatives), spelling)

    def _known(self, folded: str) -> bool:
        having = self._lexical.having
        return stem(folded) in having or any(
            stem(other) in having for other in self._synonyms.get(folded, ())
        )

    def _synonymous(self, folded: str) -> list[Alternative]:
        return [Alternative(stem(other), SYNONYM) for other in self._synonyms.get(folded, ())]

    def _halves(self, folded: str) -> tuple[str, str] | None:
        """The two known words that a compound is made of, those that most documents have."""
        known = self._lexical.vocabulary
        halves = [
            (folded[:at], folded[at:])
            for at in range(LEAST_LETTERS, len(folded) - LEAST_LETTERS + 1)
        ]
        there = [pair for pair in halves if pair[0] in known and pair[1] in known]
        return max(there, key=lambda pair: min(known[pair[0]], known[pair[1]]), default=None)

    def _nearest(self, folded: str) -> str | None:
        """The known word that a few edits lead to: fewest edits, same start, most documents."""
        if len(folded) < LEAST_LETTERS or any(sign.isdigit() for sign in folded):
            return None
        edits = 2 if len(folded) >= TWO_EDITS else 1
        known = self._lexical.vocabulary
        near = process.extract(
            folded, known.keys(), scorer=OSA.distance, score_cutoff=edits, limit=None
        )
        ranked = [
            (distance, OTHER_START * (word[0] != folded[0]) - log(known[word]), word)
            for word, distance, _ in near
            if len(word) >= LEAST_LETTERS
        ]
        return min(ranked)[-1] if ranked else None
