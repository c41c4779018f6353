"""Corrections of misspelt words to the nearest known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from index.documents.characters import LONGEST_WORD
from index.documents.languages.english import ENGLISH, LONG
from index.documents.languages.word_language import WordLanguage

LEAST_LETTERS = 3  # of a word that is corrected
MOST_CORRECTED = 10  # words of a text: each is compared with all words that items have
EDITS = 2  # that are corrected in a word of LONG letters; one in a shorter word
OTHER_START = 1.0  # how many e-fold more documents a word with another first letter must have


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of unknown words of a text, by the folded words.

    complete: whether every word that may be misspelt was compared.
    """

    spellings: Mapping[str, str]
    complete: bool = True


UNCORRECTED = Corrections({})


class Corrector:
    """Finds the nearest of known words; these come with their documents' number."""

    def __init__(self, counts: Mapping[str, int], language: WordLanguage = ENGLISH) -> None:
        self._counts, self._language = counts, language

    @cached_property
    def _words(self) -> list[str]:
        """The known words without digits, long enough for a correction."""
        return [word for word in self._counts if len(word) >= LEAST_LETTERS and word.isalpha()]

    def correct(self, unknown: Iterable[str]) -> Corrections:
        """Correct the first MOST_CORRECTED of some unknown words."""
        misspelt = list(dict.fromkeys(filter(self._may_be_misspelt, unknown)))
        nearest = self._nearest(misspelt[:MOST_CORRECTED])
        return Corrections(nearest, complete=len(misspelt) <= MOST_CORRECTED)

    def _nearest(self, misspelt: Sequence[str]) -> dict[str, str]:
        """The nearest known words by misspelt words.

        That with fewest edits, then with the same start, then with most documents. One call that
        compares all words takes a seventh of the time of a call a word.
        """
        words = self._words
        if not misspelt or not words:
            return {}
        distances = process.cdist(
            misspelt, words, scorer=OSA.distance, score_cutoff=EDITS, dtype=np.uint8
        )
        nearest = {}
        for folded, row in zip(misspelt, distances, strict=True):
            near = np.flatnonzero(row <= (EDITS if len(folded) >= LONG else 1)).tolist()
            ranked = [(row[at], *self._unlikeliness(folded, words[at])) for at in near]
            if ranked:
                nearest[folded] = min(ranked)[-1]
        return nearest

    def _unlikeliness(self, folded: str, word: str) -> tuple[float, str]:
        """A sort key of equally near words: the likeliest comes first."""
        return OTHER_START * (word[0] != folded[0]) - log(self._counts[word]), word

    def _may_be_misspelt(self, folded: str) -> bool:
        """Return whether an unknown word may be a misspelling."""
        return (
            LEAST_LETTERS <= len(folded) <= LONGEST_WORD
            and folded.isalpha()
            and not self._language.is_function_word(folded)
            and not self._language.is_trusted(folded)
        )
