"""All words of documents: codes, forms, spellings, numbers of documents."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from index.documents.analysis import Analysis
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage

NO_CODES = np.empty(0, np.uint32)


class WordTable:
    """Words with their codes and numbers of documents; none is ever removed."""

    def __init__(self, language: WordLanguage = ENGLISH) -> None:
        self.language = language
        self.counts: Counter[str] = Counter()  # words, with their documents' number
        self.joined: Counter[str] = Counter()  # words of several tokens, likewise
        self.having: Counter[str] = Counter()  # terms, likewise
        self._forms: dict[str, list[str]] = {}  # words by their stem, where it is another
        self._spelled: dict[str, Counter[str]] = {}  # with signs or accents, by folded words
        self._codes: dict[str, int] = {}  # of words, and of stems
        self._stem_of = array("I")  # the code of its stem, by code
        self._function_stems = array("I")  # the codes of function words
        self._stems = NO_CODES  # the array of `_stem_of`

    def count(self, analyses: Iterable[Analysis]) -> None:
        """Count the words of a document's fields."""
        words, joined, terms = set[str](), set[str](), set[str]()
        spelled: dict[str, str] = {}
        for analysis in analyses:
            words.update(analysis.tokens)
            joined |= analysis.joined
            terms |= analysis.terms
            spelled |= dict(analysis.spellings)
        for word in words:
            if word not in self.counts and (term := self.language.stem(word)) != word:
                self._forms.setdefault(term, []).append(word)
        self.counts.update(words)
        self.joined.update(joined)
        self.having.update(terms)
        for word, spelling in spelled.items():
            self._spelled.setdefault(word, Counter())[spelling] += 1

    def spelling(self, folded: str) -> str:
        """Find the most frequent spelling of a folded word."""
        spellings = self._spelled.get(folded)
        if not spellings:
            return folded
        usual, count = spellings.most_common(1)[0]
        return usual if 2 * count >= self.counts[folded] + self.joined[folded] else folded

    def list_forms(self, term: str) -> list[str]:
        """List the words with a stem."""
        forms = self._forms.get(term, [])
        return [term, *forms] if term in self.counts and self.language.stem(term) == term else forms

    def code(self, word: str) -> int:
        """The code of a word, a new one for a new word."""
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self._stem_of)
            self._stem_of.append(code)
            term = self.language.stem(word)
            if term != word:
                self._stem_of[code] = self.code(term)
            if not self.language.is_content(word):
                self._function_stems.append(self._stem_of[code])
        return code

    def code_stems(self, stems: Iterable[str]) -> list[int]:
        """The codes of stems in any document."""
        return [code for term in stems if (code := self._codes.get(term)) is not None]

    @property
    def stems(self) -> NDArray[np.uint32]:
        """The code of its stem for each word's code."""
        if len(self._stems) != len(self._stem_of):
            self._stems = np.array(self._stem_of, np.uint32)
        return self._stems

    def mark(self, stems: Iterable[str]) -> NDArray[np.bool_]:
        """Mark the codes of words of some stems."""
        return self._mark(self.code_stems(stems))

    def mark_others(self, stems: Iterable[str]) -> NDArray[np.bool_]:
        """Mark the codes of words of other stems, but for function words."""
        return ~self._mark([*self.code_stems(stems), *self._function_stems])

    def _mark(self, stems: Sequence[int]) -> NDArray[np.bool_]:
        """Mark the codes of words with some codes of stems."""
        chosen = np.zeros(len(self._stem_of), np.bool_)
        chosen[list(stems)] = True
        marked: NDArray[np.bool_] = chosen[self.stems]
        return marked
