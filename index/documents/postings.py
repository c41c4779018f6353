"""Postings of a field: documents by word and phrase, with counts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.distinct import find_distinct
from index.documents.analysis import Analysis

LENGTH = 0.5  # b of BM25F
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Weighed = Sequence[tuple[str, float]]  # words, and what an occurrence of each counts
NO_ROWS, NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.float32)


class FieldArrays(NamedTuple):
    """Documents with words, unless all have; content words; tokens and their ends."""

    having: Rows
    lengths: NDArray[np.uint16]
    tokens: NDArray[np.uint32]
    ends: Rows


NO_ARRAYS = FieldArrays(NO_ROWS, np.empty(0, np.uint16), np.empty(0, np.uint32), NO_ROWS)


class Postings:
    """The documents by word of a field, numbered from 0, with counts.

    There may be a field for each key of each item, so a document without a text costs nothing. In
    a field of codes a single word is found where it is all that the field has.
    """

    # Replaced in an instance that is asked.
    _norms = NO_FLOATS
    _total = 0  # documents, of all fields together, that the arrays are of
    _arrays = NO_ARRAYS

    def __init__(self, codes: bool = False) -> None:
        self._codes = codes
        self._words: dict[str, tuple[array[int], array[int]]] = {}  # documents, counts
        self._having, self._lengths = array("I"), array("H")  # documents with any; content words
        self._tokens, self._ends = array("I"), array("I")  # of all documents in a row
        self.joined: Counter[str] = Counter()  # words of several tokens, with their documents
        self.size = 0  # content words of all documents

    def __contains__(self, word: str) -> bool:
        return word in self._words

    @property
    def mean_length(self) -> float:
        """The mean number of words of documents with any."""
        return self.size / len(self._having)

    def add(self, number: int, analysis: Analysis, codes: Sequence[int]) -> list[str]:
        """Add a document by words and their codes; gives new terms."""
        new = []
        for word, count in Counter(analysis.tokens + analysis.lacking).items():
            entry = self._words.get(word)
            if entry is None:
                entry = self._words[word] = array("I"), array("H")
                new.append(analysis.term_of(word))
            entry[0].append(number)
            entry[1].append(min(count, 2**16 - 1))
        self._having.append(number)
        self._lengths.append(min(analysis.content, 2**16 - 1))
        self._tokens.extend(codes)
        self._ends.append(len(self._tokens))
        self.size += analysis.content
        self.joined.update(analysis.joined)
        return new

    def count(self, word: str) -> int:
        """Count the documents with a word."""
        return len(self._words[word][0]) if word in self._words else 0

    def documents(self, word: str) -> Rows:
        """List the documents with a word, in order."""
        return np.array(self._words[word][0], np.int64)

    def counts(self, words: Weighed, total: int) -> tuple[Rows, Floats]:
        """List the documents with any of some words, with weighed counts."""
        self._refresh(total)
        present = [(word, weight) for word, weight in words if word in self._words]
        if not present:
            return NO_ROWS, NO_FLOATS
        documents = [self.documents(word) for word, _ in present]
        counts = [
            np.array(self._words[word][1], np.float32) * np.float32(weight)
            for word, weight in present
        ]
        rows, sums = _sum(documents, counts, total)
        if not self._codes:
            return rows, sums
        _, lengths = self._extents(rows)
        return rows[lengths == 1], sums[lengths == 1]

    def phrase_counts(
        self,
        phrase: Sequence[Sequence[str]],
        wanted: Sequence[int],
        stems: NDArray[np.uint32],
        total: int,
    ) -> tuple[Rows, Floats]:
        """List the documents with a phrase, with counts.

        phrase: the words that each place of it may have. wanted: the code of their stem. stems: the
        code of its stem for each word's code.
        """
        self._refresh(total)
        documents = self._having_all(phrase, total)
        if not len(documents):
            return NO_ROWS, NO_FLOATS
        counts = self._count_phrases(documents, stems, wanted)
        present = np.flatnonzero(counts)
        return documents[present], counts[present].astype(np.float32)

    def norms(self, documents: Rows) -> Floats:
        """1 - b + b · length / average of some documents with words.

        The average is that of all documents, of which those without the field have no words.
        """
        norms: Floats = self._norms[self._places(documents)]
        return norms

    def having_codes(self, documents: Rows, codes: NDArray[np.bool_]) -> Rows:
        """List those of some documents with a marked code."""
        owner, tokens = self._tokens_of(documents)
        return documents[find_distinct(owner[codes[tokens]])]

    def in_order(self, documents: Rows, words: Sequence[NDArray[np.bool_]]) -> Rows:
        """List those of some documents that have words in order, each by its marked codes."""
        owner, tokens = self._tokens_of(documents)
        ordered, before = np.ones(len(documents), np.bool_), np.zeros(len(documents), np.int64)
        for marked in words:
            having = np.flatnonzero(marked[tokens])
            places = np.full(len(documents), len(tokens))
            np.minimum.at(places, owner[having], having)
            ordered &= places >= before
            before = places
        return documents[ordered]

    def of_length(self, documents: Rows, longest: int, total: int) -> Rows:
        """List those of some documents with few content words here."""
        self._refresh(total)
        places = self._places(documents)
        inside = np.flatnonzero(places < len(self._having))
        documents, places = documents[inside], places[inside]
        lengths = self._arrays.lengths[places]
        if len(self._having) != self._total:
            lengths = np.where(self._arrays.having[places] == documents, lengths, 0)
        return documents[(lengths > 0) & (lengths <= longest)]

    def _count_phrases(
        self, documents: Rows, stems: NDArray[np.uint32], wanted: Sequence[int]
    ) -> Rows:
        """Count stems in a row in each of some documents."""
        owner, tokens = self._tokens_of(documents)
        terms, size = stems[tokens], len(wanted)
        begins = np.ones(max(len(terms) - size + 1, 0), np.bool_)
        for at, code in enumerate(wanted):
            begins &= terms[at : at + len(begins)] == code
        begins &= owner[: len(begins)] == owner[size - 1 : size - 1 + len(begins)]
        return np.bincount(owner[: len(begins)][begins], minlength=len(documents))

    def _tokens_of(self, documents: Rows) -> tuple[Rows, NDArray[np.uint32]]:
        """The codes of some documents' tokens, each with its document's place."""
        starts, lengths = self._extents(documents)
        owner = np.repeat(np.arange(len(documents)), lengths)
        before = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return owner, self._arrays.tokens[
            np.arange(len(owner)) + np.repeat(starts - before, lengths)
        ]

    def _extents(self, documents: Rows) -> tuple[Rows, Rows]:
        """The places and the number of some documents' tokens."""
        places, ends = self._places(documents), self._arrays.ends
        starts = np.where(places > 0, ends[places - 1], 0)
        return starts, ends[places] - starts

    def _places(self, documents: Rows) -> Rows:
        """The places of some documents among those with words."""
        if len(self._having) == self._total:
            return documents
        places: Rows = np.searchsorted(self._arrays.having, documents)
        return places

    def _having_all(self, phrase: Sequence[Sequence[str]], total: int) -> Rows:
        """List the documents with a word of each place of a phrase."""
        every: NDArray[np.bool_] | None = None
        for words in phrase:
            having = np.zeros(total, np.bool_)
            for word in words:
                if word in self._words:
                    having[self.documents(word)] = True
            every = having if every is None else every & having
        assert every is not None
        return np.flatnonzero(every)

    def _refresh(self, total: int) -> None:
        """Make the arrays of searches, once documents have come."""
        if self._total != total:
            every = len(self._having) == total
            self._arrays = FieldArrays(
                NO_ROWS if every else np.array(self._having, np.int64),
                np.array(self._lengths, np.uint16),
                np.array(self._tokens, np.uint32),
                np.array(self._ends, np.int64),
            )
            average = max(self.size / total, 1.0)
            lengths = self._arrays.lengths.astype(np.float32)
            self._norms = 1 - LENGTH + np.float32(LENGTH / average) * lengths
            self._total = total


def _sum(documents: Sequence[Rows], counts: Sequence[Floats], total: int) -> tuple[Rows, Floats]:
    """Merge lists of documents, and add up their counts."""
    if len(documents) == 1:
        return documents[0], counts[0]
    every = np.concatenate(documents)
    sums = np.bincount(every, np.concatenate(counts), minlength=total)
    present = np.zeros(total, np.bool_)
    present[every] = True
    rows = np.flatnonzero(present)
    return rows, sums[rows].astype(np.float32)
