"""Lexical search: BM25F over the fields of items, with what each field and word gives.

BM25F (Robertson & Zaragoza 2009, section 3.5) of a document d and a query of words w:

    S(d) = Σ_w idf_w · x_w / (k + x_w)
    x_w = Σ_f weight_f · tf_wf / (1 - b + b · length_f / average_f)

A word's share of a field is its part of x_w, so the gains of words and fields add up to S. With
idf_w = ln(1 + (N - n_w + 0.5) / (n_w + 0.5)), S is below Σ_w idf_w: `Scores.relative` is S over it.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.documents.words import spell, stem

SATURATION, LENGTH = 1.2, 0.5  # k and b
Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
NO_NORMS = np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A term, a stemmed word, to look a query word up by; 1 is the word's own weight."""

    term: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of all documents for a query.

    gains (W, N): what each word gives to each document, above 0 where it has the word. bound: the
    most that all words together could give.
    """

    gains: Floats
    bound: float

    @property
    def relative(self) -> Floats:
        """The share (N,) of the most that the words could give."""
        total: Floats = self.gains.sum(0) / np.float32(self.bound or 1.0)
        return total


class Postings:
    """The documents that have a term in a field, and how often; numbered from 0.

    There may be a field for each key of each item, so a document without a text costs nothing.
    """

    # Replaced in an instance that is asked.
    _norms = NO_NORMS
    _total = 0  # documents, of all fields together, that the norms and the cache are of

    def __init__(self) -> None:
        self._terms: dict[str, tuple[array[int], array[int]]] = {}  # documents, counts
        self._having, self._lengths = array("I"), array("H")  # documents with any, and their words
        self.vocabulary: Counter[str] = Counter()  # folded words, with their documents' number
        self.size = 0  # words of all documents
        self._cache: dict[str, tuple[Rows, Floats]] = {}  # what was asked for since the last text

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    @property
    def mean_length(self) -> float:
        """The mean number of words of documents that have any."""
        return self.size / len(self._having)

    def add(self, number: int, words: Sequence[tuple[str, str]]) -> list[str]:
        """Add the words of a document, folded and as written; gives the new terms."""
        new = []
        for term, count in Counter(stem(folded) for folded, _ in words).items():
            if term not in self._terms:
                self._terms[term] = array("I"), array("H")
                new.append(term)
            documents, counts = self._terms[term]
            documents.append(number)
            counts.append(min(count, 2**16 - 1))
        self._having.append(number)
        self._lengths.append(min(len(words), 2**16 - 1))
        self.size += len(words)
        self.vocabulary.update({folded for folded, _ in words})
        return new

    def documents(self, term: str) -> Rows:
        """List the documents with a term, in order."""
        return np.array(self._terms[term][0], np.int64)

    def of_length(self, length: int) -> Rows:
        """List the documents with so many words."""
        having: Rows = np.array(self._having, np.int64)[np.array(self._lengths) == length]
        return having

    def frequencies(self, term: str, total: int) -> tuple[Rows, Floats]:
        """List documents with a term, of `total`, and tf / (1 - b + b · length / average).

        The average is that of all documents, of which those without the field have no words.
        """
        if self._total != total:
            lengths = np.array(self._lengths, np.float32)
            average = max(float(lengths.sum()) / total, 1.0)
            self._norms = 1 - LENGTH + np.float32(LENGTH / average) * lengths
            self._cache, self._total = {}, total
        if term not in self._cache:
            documents = self.documents(term)
            norms = self._norms[np.searchsorted(np.array(self._having, np.int64), documents)]
            self._cache[term] = documents, np.array(self._terms[term][1], np.float32) / norms
        return self._cache[term]


class Lexical:
    """Documents of fields, to be searched by words. Documents are added, and never change."""

    def __init__(self) -> None:
        self._fields: dict[str, Postings] = {}
        self._fields_of: dict[str, list[str]] = {}  # by term, in which it is
        self.vocabulary: Counter[str] = Counter()  # folded words, with their documents' number
        self._spelled: dict[str, Counter[str]] = {}  # with signs or accents, by folded words
        self.having: Counter[str] = Counter()  # terms, with their documents' number
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, fields: Mapping[str, str]) -> int:
        """Add a document, its texts by field; gives its number."""
        words: dict[str, str] = {}  # as they are written, by folded words
        for name, text in fields.items():
            if spellings := list(spell(text)):
                postings = self._fields.get(name) or self._fields.setdefault(name, Postings())
                for term in postings.add(self._size, spellings):
                    self._fields_of.setdefault(term, []).append(name)
                words |= dict(spellings)
        for folded, spelling in words.items():
            if folded != spelling:
                self._spelled.setdefault(folded, Counter())[spelling] += 1
        self.vocabulary.update(words.keys())
        self.having.update({stem(word) for word in words})
        self._size += 1
        return self._size - 1

    def spelling(self, folded: str) -> str:
        """Find the most frequent spelling of a folded word, with signs and accents or without."""
        spellings = self._spelled.get(folded)
        if not spellings:
            return folded
        usual, count = spellings.most_common(1)[0]
        return usual if 2 * count >= self.vocabulary[folded] else folded

    def idf(self, term: str) -> float:
        """The weight of a term: higher for one that few documents have."""
        having = self.having.get(term, 0)
        return math.log1p((self._size - having + 0.5) / (having + 0.5))

    def mean_lengths(self) -> dict[str, float]:
        """The mean number of words of each field, over documents that have any there."""
        return {name: postings.mean_length for name, postings in self._fields.items()}

    def frequency(self, folded: str, fields: Iterable[str]) -> int:
        """Count the documents with a folded word in that of some fields where most have it."""
        names = set(self._fields_of.get(stem(folded), ())).intersection(fields)
        return max((self._fields[name].vocabulary.get(folded, 0) for name in names), default=0)

    def having_any(
        self, alternatives: Iterable[Alternative], fields: Iterable[str]
    ) -> NDArray[np.bool_]:
        """Mark the documents (N,) with any of some terms in any of some fields."""
        having, chosen = np.zeros(self._size, np.bool_), frozenset(fields)
        for alternative in alternatives:
            for name in chosen.intersection(self._fields_of.get(alternative.term, ())):
                having[self._fields[name].documents(alternative.term)] = True
        return having

    def scores(
        self, words: Sequence[Sequence[Alternative]], weights: Mapping[str, float]
    ) -> Scores:
        """Score all documents for words; of a word's alternatives the best counts.

        `weights` of fields are 1 where they are not given; a field of weight 0 is not looked at.
        """
        gains = np.zeros((len(words), self._size), np.float32)
        bound = 0.0
        for number, alternatives in enumerate(words):
            for alternative in alternatives:
                gain = self._gain(alternative, weights)
                np.maximum(gains[number], gain, out=gains[number])
            bound += max((self.idf(alternative.term) for alternative in alternatives), default=0.0)
        return Scores(gains, bound)

    def shares(
        self, documents: Rows, word: Sequence[Alternative], weights: Mapping[str, float]
    ) -> dict[str, Floats]:
        """Split the gain of a word in some documents (M,) by field."""
        parts = [self._parts(documents, alternative, weights) for alternative in word]
        gains = [sum(part.values(), np.zeros(len(documents), np.float32)) for part in parts]
        best = np.argmax(np.stack(gains), axis=0)
        shared = {}
        for name in dict.fromkeys(name for part in parts for name in part):
            stacked = np.stack([part.get(name, np.zeros_like(gains[0])) for part in parts])
            gain = stacked[best, np.arange(len(documents))]
            if gain.any():
                shared[name] = gain
        return shared

    def whole(
        self, words: Sequence[Sequence[Alternative]], length: int, weights: Mapping[str, float]
    ) -> dict[str, NDArray[np.bool_]]:
        """Mark by field the documents (N,) whose text there has all words and is no longer."""
        matches = {}
        for name in self._having_all(words):
            if not weights.get(name, 1.0):
                continue
            fitting = np.zeros(self._size, np.bool_)
            fitting[self._fields[name].of_length(length)] = True
            for alternatives in words:
                fitting &= self.having_any(alternatives, [name])
            if fitting.any():
                matches[name] = fitting
        return matches

    def _having_all(self, words: Sequence[Sequence[Alternative]]) -> list[str]:
        """List the fields that have all words, in any documents."""
        having = [
            {name for each in alternatives for name in self._fields_of.get(each.term, ())}
            for alternatives in words
        ]
        return sorted(set.intersection(*having)) if having else []

    def _gain(self, alternative: Alternative, weights: Mapping[str, float]) -> Floats:
        """The gain of an alternative in each document."""
        frequency = np.zeros(self._size, np.float32)
        for name in self._fields_of.get(alternative.term, ()):
            if weight := weights.get(name, 1.0):
                postings = self._fields[name]
                documents, frequencies = postings.frequencies(alternative.term, self._size)
                frequency[documents] += np.float32(weight) * frequencies
        return self._most_gain(alternative) * frequency / (np.float32(SATURATION) + frequency)

    def _parts(
        self, documents: Rows, alternative: Alternative, weights: Mapping[str, float]
    ) -> dict[str, Floats]:
        """The gain of an alternative in some documents, by field."""
        parts: dict[str, Floats] = {}
        for name in self._fields_of.get(alternative.term, ()):
            if weight := weights.get(name, 1.0):
                postings = self._fields[name]
                having, frequencies = postings.frequencies(alternative.term, self._size)
                places = np.searchsorted(having, documents)
                matched = np.flatnonzero(places < len(having))
                matched = matched[having[places[matched]] == documents[matched]]
                if len(matched):
                    parts[name] = np.zeros(len(documents), np.float32)
                    parts[name][matched] = np.float32(weight) * frequencies[places[matched]]
        total = sum(parts.values(), np.full(len(documents), SATURATION, np.float32))
        scale = self._most_gain(alternative) / total
        return {name: scale * part for name, part in parts.items()}

    def _most_gain(self, alternative: Alternative) -> np.float32:
        """The most that an alternative can give."""
        return np.float32(alternative.weight * self.idf(alternative.term))
