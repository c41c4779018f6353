"""Wording: what the words of a query are taken for; typos, compounds and synonyms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from index.documents import words as spelling
from index.documents.bm25 import Alternative
from index.documents.words import LONGEST_WORD, FoldedWord, fold, stem, words
from models.text.lexicon import is_common, is_function_word
from models.types import Span

LEAST_LETTERS = 3  # of a word that is corrected, and of each half of a compound
MOST_CORRECTED = 10  # words of a text: each is compared with all words that items have
EDITS = 2  # that are corrected in a word of LONG letters; one in a shorter word
LONG = 8
OTHER_START = 1.0  # how many e-fold more documents a word with another first letter must have
SYNONYM = 0.9  # the weight of a synonym
MOST_SYNONYMS = 100  # of a line


Synonyms = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query, text[start:end], with the terms to look it up by, at least one.

    `spelling` is the known word that it was corrected to, or the two halves of a compound;
    `synonyms` are looked up as well.
    """

    start: int
    end: int
    alternatives: tuple[Alternative, ...]
    spelling: str | None = None
    synonyms: tuple[str, ...] = ()


def parse_synonyms(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Synonyms of folded words, from lines such as "sofa, couch, settee"; # begins a comment.

    ValueError for a line of more than MOST_SYNONYMS: a search looks up all of them for each word.
    """
    groups = [
        [fold(word) for word in line.partition("#")[0].split(",") if fold(word)] for line in lines
    ]
    for number, group in enumerate(groups, start=1):
        if len(group) > MOST_SYNONYMS:
            raise ValueError(
                f"line {number} of the synonyms has {len(group):,} words; "
                f"{MOST_SYNONYMS} at most are taken for each other"
            )
    return {
        word: tuple(synonym for synonym in group if synonym != word)
        for group in groups
        for word in group
    }


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of unknown words of a text, by the folded words.

    complete: whether every word that may be misspelt was compared.
    """

    spellings: Mapping[str, str]
    complete: bool = True


UNCORRECTED = Corrections({})


class Wording:
    """Reads queries with the vocabulary that some documents had at a moment; it never changes.

    vocabulary: folded words, with their documents' number. terms: their stems.
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        terms: AbstractSet[str],
        synonyms: Synonyms | None = None,
    ) -> None:
        self._vocabulary, self._terms, self._synonyms = vocabulary, terms, synonyms or {}

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._vocabulary)

    @cached_property
    def _spellings(self) -> list[str]:
        """The words that others are corrected to; those with digits are codes and numbers."""
        return [w for w in self._vocabulary if len(w) >= LEAST_LETTERS and w.isalpha()]

    def corrections(self, text: str) -> Corrections:
        """Correct the first MOST_CORRECTED unknown words to the nearest known ones."""
        misspelt = list(
            dict.fromkeys(word.folded for word in words(text) if self._is_misspelt(word.folded))
        )
        nearest = self._nearest(misspelt[:MOST_CORRECTED])
        return Corrections(nearest, complete=len(misspelt) <= MOST_CORRECTED)

    def read(
        self,
        text: str,
        corrections: Corrections | None = None,
        naming: Collection[int] = (),
        within: Span | None = None,
    ) -> tuple[QueryWord, ...]:
        """Read the content words of a query; function words are left out.

        The text may be a part of the one that the corrections are of. `naming` are the starts of
        function words that are parts of names. Only those words are read that are `within` a part.
        """
        if corrections is None:
            corrections = self.corrections(text)
        start, end = (within.start, within.end) if within else (0, None)
        content_words = [
            word
            for word in words(text, start, end)
            if word.start in naming or not is_function_word(word.folded)
        ]
        query_words = [part for word in content_words for part in self._read(word, corrections)]
        if len(query_words) == len(content_words):
            self._add_compounds(query_words, content_words)
        return tuple(query_words)

    def _add_compounds(
        self, query_words: list[QueryWord], content_words: Sequence[FoldedWord]
    ) -> None:
        """Also look two words in a row up as the one word that they form."""
        for at, (left, right) in enumerate(pairwise(content_words)):
            joined = left.folded + right.folded
            if joined in self._vocabulary:
                compound = Alternative(stem(joined))
                for place in (at, at + 1):
                    word = query_words[place]
                    query_words[place] = replace(word, alternatives=(*word.alternatives, compound))

    def correct(self, text: str, query_words: Sequence[QueryWord]) -> str:
        """Correct the spellings of the words in a text."""
        for word in sorted(
            {(word.start, word.end, word.spelling) for word in query_words}, reverse=True
        ):
            start, end, known = word
            if known is not None:
                text = text[:start] + known + text[end:]
        return text

    def beginning(self, prefix: str) -> list[str]:
        """List the folded words that begin with a prefix, in order."""
        first = bisect_left(self._sorted, prefix)
        last = bisect_left(self._sorted, prefix + "\U0010ffff")
        return self._sorted[first:last]

    def has(self, term: str) -> bool:
        """Return whether any document has a term."""
        return term in self._terms

    def _read(self, word: FoldedWord, corrections: Corrections) -> list[QueryWord]:
        """Look a word up as it is, as it is spelled elsewhere, as two words, or corrected."""
        folded = word.folded
        variants = self._variants(folded)
        if self._is_known(folded):
            return [self._take(word, folded, *variants)]
        if variants:
            return [replace(self._take(word, *variants), spelling=variants[0])]
        if halves := self._halves(folded):
            both = " ".join(halves)
            return [
                QueryWord(word.start, word.end, (Alternative(stem(half)),), both) for half in halves
            ]
        nearest = corrections.spellings.get(folded)
        term = Alternative(stem(nearest or folded))
        return [QueryWord(word.start, word.end, (term,), nearest)]

    def _variants(self, folded: str) -> list[str]:
        return [variant for variant in spelling.variants(folded) if self._is_known(variant)]

    def _take(self, word: FoldedWord, known: str, *variants: str) -> QueryWord:
        """Take a word for a known one, with its synonyms, or for variants of that."""
        synonyms = tuple(self._synonyms.get(known, ()))
        alternatives = [Alternative(stem(variant)) for variant in (known, *variants)]
        alternatives += [Alternative(stem(synonym), SYNONYM) for synonym in synonyms]
        return QueryWord(word.start, word.end, tuple(alternatives), synonyms=synonyms)

    def _is_known(self, folded: str) -> bool:
        return self.has(stem(folded)) or any(
            self.has(stem(synonym)) for synonym in self._synonyms.get(folded, ())
        )

    def _halves(self, folded: str) -> tuple[str, str] | None:
        """The two known words that a compound is made of, those that most documents have."""
        if len(folded) > LONGEST_WORD:
            return None
        vocabulary = self._vocabulary
        halves = [
            (folded[:at], folded[at:])
            for at in range(LEAST_LETTERS, len(folded) - LEAST_LETTERS + 1)
        ]
        pairs = [pair for pair in halves if pair[0] in vocabulary and pair[1] in vocabulary]
        return max(
            pairs, key=lambda pair: min(vocabulary[pair[0]], vocabulary[pair[1]]), default=None
        )

    def _is_misspelt(self, folded: str) -> bool:
        """Return whether a word may be a misspelling, as nothing else is known of it.

        Not a short English word, which near ones are other words of: "sofa" is not "soft".
        """
        return (
            LEAST_LETTERS <= len(folded) <= LONGEST_WORD
            and not any(sign.isdigit() for sign in folded)
            and not is_function_word(folded)
            and not (len(folded) < LONG and is_common(folded))
            and not self._is_known(folded)
            and not self._variants(folded)
            and self._halves(folded) is None
        )

    def _nearest(self, misspelt: Sequence[str]) -> dict[str, str]:
        """The known word that a few edits lead to, by misspelt words that have one.

        That with fewest edits, then with the same start, then with most documents. One call that
        compares all words takes a seventh of the time of a call a word.
        """
        known = self._spellings
        if not misspelt or not known:
            return {}
        distances = process.cdist(
            misspelt, known, scorer=OSA.distance, score_cutoff=EDITS, dtype=np.uint8
        )
        nearest = {}
        for folded, row in zip(misspelt, distances, strict=True):
            near = np.flatnonzero(row <= (EDITS if len(folded) >= LONG else 1)).tolist()
            ranked = [(row[at], *self._unlikeliness(folded, known[at])) for at in near]
            if ranked:
                nearest[folded] = min(ranked)[-1]
        return nearest

    def _unlikeliness(self, folded: str, known: str) -> tuple[float, str]:
        """A key by which the likeliest of equally near words comes first."""
        return OTHER_START * (known[0] != folded[0]) - log(self._vocabulary[known]), known
