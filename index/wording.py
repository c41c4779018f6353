"""Wording: what the words of a query are taken for; typos, compounds and synonyms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log

from rapidfuzz import process
from rapidfuzz.distance import OSA

from index import spelling
from index.lexical import Alternative, Lexical
from index.terms import Word, fold, stem, words
from models.lexicon import is_common, is_function_word

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
        word: tuple(synonym for synonym in group if synonym != word)
        for group in groups
        for word in group
    }


class Wording:
    """Reads queries with the vocabulary of some documents."""

    def __init__(self, lexical: Lexical, synonyms: Synonyms | None = None) -> None:
        self._lexical, self._synonyms = lexical, synonyms or {}
        self._sorted: list[str] = []

    def read(self, text: str) -> tuple[QueryWord, ...]:
        """The words of a query that say something; function words are left out."""
        content_words = [word for word in words(text) if not is_function_word(word.folded)]
        query_words = [part for word in content_words for part in self._read(word)]
        for (first, second), (left, right) in zip(
            pairwise(query_words), pairwise(content_words), strict=False
        ):
            joined = left.folded + right.folded
            if joined in self._lexical.vocabulary and len(query_words) == len(content_words):
                at = query_words.index(first)
                compound = Alternative(stem(joined))
                query_words[at] = replace(first, alternatives=(*first.alternatives, compound))
                query_words[at + 1] = replace(second, alternatives=(*second.alternatives, compound))
        return tuple(query_words)

    def corrected(self, text: str, query_words: Sequence[QueryWord]) -> str:
        """The text with the spellings that its words were corrected to."""
        for word in sorted(
            {(word.start, word.end, word.spelling) for word in query_words}, reverse=True
        ):
            start, end, known = word
            if known is not None:
                text = text[:start] + known + text[end:]
        return text

    def complete(self, text: str, count: int, fields: Sequence[str]) -> list[str]:
        """Texts that go on with a word of some fields where one stops, of most documents first."""
        if len(self._sorted) != len(self._lexical.vocabulary):
            self._sorted = sorted(self._lexical.vocabulary)
        start = max(text.rfind(" ") + 1, 0)
        prefix = fold(text[start:])
        if not prefix:
            return []
        first = bisect_left(self._sorted, prefix)
        last = bisect_left(self._sorted, prefix + "\U0010ffff")
        counts = {word: self._lexical.frequency(word, fields) for word in self._sorted[first:last]}
        ranked = sorted(filter(counts.get, counts), key=lambda word: (-counts[word], word))
        return [text[:start] + self._lexical.spelling(word) for word in ranked[:count]]

    def _read(self, word: Word) -> list[QueryWord]:
        folded = word.folded
        variants = [variant for variant in spelling.variants(folded) if self._known(variant)]
        if self._known(folded):
            return [self._taken(word, folded, *variants)]
        if variants:
            return [replace(self._taken(word, *variants), spelling=variants[0])]
        if halves := self._halves(folded):
            both = " ".join(halves)
            return [self._word(word, [Alternative(stem(half))], both) for half in halves]
        if nearest := self._nearest(folded):
            return [self._word(word, [Alternative(stem(nearest))], nearest)]
        return [self._word(word, [Alternative(stem(folded))])]

    def _taken(self, word: Word, known: str, *variants: str) -> QueryWord:
        """A word that is taken for a known one, with its synonyms, or for variants of that."""
        alternatives = [Alternative(stem(variant)) for variant in (known, *variants)]
        query_word = self._word(word, [*alternatives, *self._synonymous(known)])
        return replace(query_word, synonyms=tuple(self._synonyms.get(known, ())))

    def _word(
        self, word: Word, alternatives: Sequence[Alternative], spelled: str | None = None
    ) -> QueryWord:
        return QueryWord(word.start, word.end, tuple(alternatives), spelled)

    def _known(self, folded: str) -> bool:
        having = self._lexical.having
        return stem(folded) in having or any(
            stem(synonym) in having for synonym in self._synonyms.get(folded, ())
        )

    def _synonymous(self, folded: str) -> list[Alternative]:
        return [Alternative(stem(synonym), SYNONYM) for synonym in self._synonyms.get(folded, ())]

    def _halves(self, folded: str) -> tuple[str, str] | None:
        """The two known words that a compound is made of, those that most documents have."""
        vocabulary = self._lexical.vocabulary
        halves = [
            (folded[:at], folded[at:])
            for at in range(LEAST_LETTERS, len(folded) - LEAST_LETTERS + 1)
        ]
        pairs = [pair for pair in halves if pair[0] in vocabulary and pair[1] in vocabulary]
        return max(
            pairs, key=lambda pair: min(vocabulary[pair[0]], vocabulary[pair[1]]), default=None
        )

    def _nearest(self, folded: str) -> str | None:
        """The known word that a few edits lead to: fewest edits, same start, most documents.

        None for a short English word, which near ones are other words of: "sofa" is not "soft".
        """
        if len(folded) < LEAST_LETTERS or any(sign.isdigit() for sign in folded):
            return None
        if len(folded) < TWO_EDITS and is_common(folded):
            return None
        edits = 2 if len(folded) >= TWO_EDITS else 1
        vocabulary = self._lexical.vocabulary
        near = process.extract(
            folded, vocabulary.keys(), scorer=OSA.distance, score_cutoff=edits, limit=None
        )
        ranked = [
            (distance, OTHER_START * (word[0] != folded[0]) - log(vocabulary[word]), word)
            for word, distance, _ in near
            if len(word) >= LEAST_LETTERS
        ]
        return min(ranked)[-1] if ranked else None
