"""Lexical search: BM25F over fields, split by field and word.

BM25F (Robertson & Zaragoza 2009, section 3.5) of a document d and a query of words w:

    S(d) = Σ_w idf_w · x_w / (k + x_w)
    x_w = Σ_f weight_f · tf_wf / (1 - b + b · length_f / average_f)

A word's share of a field is its part of x_w, so the gains of words and fields add up to S. With
idf_w = ln(1 + (N - n_w + 0.5) / (n_w + 0.5)), S is below Σ_w idf_w: `Scores.relative` is S over it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from index.documents.analysis import Analysis, analyze
from index.documents.identifiers import is_code, squeeze
from index.documents.lacks import LACKING, MAYBE_LACKING
from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.postings import Floats, Postings, Rows, Weighed
from index.documents.word_table import WordTable

SATURATION = 1.2  # k
INFLECTED = 0.8  # the weight of a word in another form than the one that is asked for
LONGEST_UNIT = 3  # letters of a unit next to a number
LONGEST_CODE = 32  # characters of a code that is found in all ways of writing it
LACKED = 0.2  # that of a word that is named as lacking


@dataclass(frozen=True, slots=True)
class Alternative:
    """A term to look a query word up by, and its weight.

    term: a stem, or several with spaces between them: a phrase, of words in a row. form: the word
    itself; others with its stem count a little less. in_codes: only fields of codes have it.
    compounds: words that end with it, which are looked up instead. guessed: whether these may be
    other words, so that they refuse nothing.
    """

    term: str
    weight: float = 1.0
    form: str | None = None
    in_codes: bool = False
    compounds: tuple[str, ...] = ()
    guessed: bool = False

    @property
    def stems(self) -> list[str]:
        """Its stems: one, or those of a phrase."""
        return self.term.split(" ")


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
        """The scores (N,) as shares of the bound."""
        total: Floats = self.gains.sum(0) / np.float32(self.bound or 1.0)
        return total


class Lexical:
    """Documents of fields, searched by words; added documents never change."""

    def __init__(self, language: WordLanguage = ENGLISH) -> None:
        self.vocabulary = WordTable(language)
        self._fields: dict[str, Postings] = {}
        self._fields_of: dict[str, list[str]] = {}  # by term, in which it is
        self._size = 0
        self._codes: dict[str, tuple[str, ...]] = {}  # terms by squeezed codes
        self._stems_of: dict[tuple[str, ...], list[str]] = {}  # by compounds
        # By term, form, compounds and field; since the last document.
        self._cache: dict[tuple[str, str | None, tuple[str, ...], str], tuple[Rows, Floats]] = {}

    def __len__(self) -> int:
        return self._size

    def add(self, fields: Mapping[str, str]) -> int:
        """Add a document, its texts by field; gives its number."""
        analyses = {name: analyze(text, self.vocabulary.language) for name, text in fields.items()}
        for name, analysis in analyses.items():
            if analysis.tokens:
                self._add(name, analysis)
            is_path = name == "id" and "/" in fields[name]
            if len(analysis.tokens) > 1 and is_code(name) and not is_path:
                self._add_code(fields[name], analysis)
        self.vocabulary.count(analyses.values())
        self._size += 1
        self._cache.clear()
        self._stems_of.clear()
        return self._size - 1

    def _add(self, name: str, analysis: Analysis) -> None:
        """Add the words of a field to those of the next document."""
        postings = self._fields.get(name)
        if postings is None:
            postings = self._fields[name] = Postings(is_code(name))
        codes = list(map(self.vocabulary.code, analysis.tokens))
        for term in postings.add(self._size, analysis, codes):
            names = self._fields_of.setdefault(term, [])
            if name not in names:
                names.append(name)

    def _add_code(self, text: str, analysis: Analysis) -> None:
        """Note how a code of several tokens is written without signs."""
        code = squeeze(text)
        if len(code) > LONGEST_CODE:
            return
        term = " ".join(map(analysis.term_of, analysis.tokens))
        terms = self._codes.get(code, ())
        if term not in terms:
            self._codes[code] = (*terms, term)

    def list_codes(self, code: str) -> list[str]:
        """List the terms of codes that are a squeezed one."""
        alone = [code] if any(is_code(name) for name in self._fields_of.get(code, ())) else []
        return [*alone, *self._codes.get(code, ())]

    def idf(self, alternative: Alternative) -> float:
        """The weight of a term: higher for a rare one."""
        having = self.count(alternative)
        return math.log1p((self._size - having + 0.5) / (having + 0.5))

    def idfs(self, alternatives: Sequence[Alternative]) -> list[float]:
        """The weights of a word's terms, the word's own first.

        A rarer synonym, or another spelling, has none above that.
        """
        idfs = list(map(self.idf, alternatives))
        return [
            idf if alternative.weight == 1 else min(idf, idfs[0])
            for alternative, idf in zip(alternatives, idfs, strict=True)
        ]

    def count(self, alternative: Alternative) -> int:
        """Count the documents with a term, in any field."""
        if alternative.compounds:
            having = sum(self.vocabulary.counts[word] for word in alternative.compounds)
            return min(having, self._size)
        if " " not in alternative.term:
            return self.vocabulary.having.get(alternative.term, 0)
        documents = [self._frequencies(alternative, name)[0] for name in self._names(alternative)]
        return len(documents[0]) if len(documents) == 1 else len(set().union(*map(set, documents)))

    def mean_lengths(self) -> dict[str, float]:
        """The mean number of words of each field in its documents."""
        return {name: postings.mean_length for name, postings in self._fields.items()}

    def frequency(self, folded: str, fields: Iterable[str]) -> int:
        """Count the documents with a folded word in its most frequent field."""
        postings = (self._fields[name] for name in fields if name in self._fields)
        return max((each.count(folded) or each.joined[folded] for each in postings), default=0)

    def having_any(
        self, alternatives: Iterable[Alternative], fields: Iterable[str]
    ) -> NDArray[np.bool_]:
        """Mark the documents (N,) with any of some terms in some fields."""
        having, chosen = np.zeros(self._size, np.bool_), frozenset(fields)
        for alternative in alternatives:
            for name in chosen.intersection(self._names(alternative)):
                having[self._frequencies(alternative, name)[0]] = True
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
            idfs = self.idfs(alternatives)
            for alternative, idf in zip(alternatives, idfs, strict=True):
                gain = self._gain(alternative, idf, weights)
                np.maximum(gains[number], gain, out=gains[number])
            bound += max(idfs, default=0.0)
        return Scores(gains, bound)

    def mask_refused(
        self, words: Sequence[Sequence[Alternative]], weights: Mapping[str, float]
    ) -> NDArray[np.bool_]:
        """Mark the documents (N,) with all refused words in a field.

        Those do not count that name the words as lacking.
        """
        refused = np.zeros(self._size, np.bool_)
        for name in self._having_all(words):
            if weights.get(name, 1.0):
                every = np.ones(self._size, np.bool_)
                for alternatives in words:
                    having = np.zeros(self._size, np.bool_)
                    for alternative in (each for each in alternatives if not each.guessed):
                        having[self._really_having(alternative, self._fields[name])] = True
                    every &= having
                refused |= every
        return refused

    def _really_having(self, alternative: Alternative, postings: Postings) -> Rows:
        """The documents with a term in a field, besides as lacking."""
        stems, term = alternative.stems, alternative.term
        if len(stems) > 1:
            return self._count_phrase(stems, postings)[0]
        terms = self._stems(alternative) if alternative.compounds else [term]
        forms = alternative.compounds or self.vocabulary.list_forms(term)
        words = [(form, 1.0) for form in forms]
        words += [(sign + term, -1.0) for term in terms for sign in (LACKING, MAYBE_LACKING)]
        documents, counts = postings.counts(words, self._size)
        return documents[counts > 0]

    def shares(
        self, documents: Rows, word: Sequence[Alternative], weights: Mapping[str, float]
    ) -> dict[str, Floats]:
        """Split the gain of a word in some documents (M,) by field."""
        parts = [
            part
            for alternative, idf in zip(word, self.idfs(word), strict=True)
            if (part := self._parts(documents, alternative, idf, weights))
        ]
        if len(parts) < 2:
            return parts[0] if parts else {}
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
        self,
        documents: Rows,
        words: Sequence[Sequence[Alternative]],
        weights: Mapping[str, float],
    ) -> dict[str, Rows]:
        """List documents by field with all of some words and no others.

        Of numbers and units alone the order counts: "G100" is not "100 g". A compound is another
        word.
        """
        words = [[each for each in way if not each.compounds] for way in words]
        if not all(words):
            return {}
        longest = sum(max(len(each.stems) for each in alternatives) for alternatives in words)
        stems = [{term for each in way for term in each.stems} for way in words]
        terms = set[str]().union(*stems)
        first_stems = [stem for way in words for each in way[:1] for stem in each.stems]
        numbers = [stem[:1].isdigit() for stem in first_stems]
        units = all(map(operator.or_, numbers, (len(stem) <= LONGEST_UNIT for stem in first_stems)))
        sized = len(words) > 1 and any(numbers) and units
        ordered = [self.vocabulary.mark(each) for each in stems] if sized else []
        matches: dict[str, Rows] = {}
        for name in self._having_all(words) if len(documents) else ():
            if not weights.get(name, 1.0):
                continue
            rows = self._fields[name].of_length(documents, longest, self._size)
            for alternatives in words:
                rows = rows[self.having_any(alternatives, [name])[rows]] if len(rows) else rows
            if len(rows):
                others = self.vocabulary.mark_others(terms)
                longer = self._fields[name].having_codes(rows, others)
                rows = np.setdiff1d(rows, longer, assume_unique=True)
                if ordered:
                    rows = self._fields[name].in_order(rows, ordered)
                matches[name] = rows
        return {name: rows for name, rows in matches.items() if len(rows)}

    def _having_all(self, words: Sequence[Sequence[Alternative]]) -> list[str]:
        """List the fields with all words in any documents."""
        having = [
            {name for each in alternatives for name in self._names(each)} for alternatives in words
        ]
        return sorted(set.intersection(*having)) if having else []

    def _names(self, alternative: Alternative) -> list[str]:
        """The fields with all stems of a term in any documents."""
        if alternative.compounds:
            fields = (self._fields_of.get(stem, ()) for stem in self._stems(alternative))
            return list(dict.fromkeys(chain.from_iterable(fields)))
        names = [self._fields_of.get(term, []) for term in alternative.stems]
        every = [name for name in names[0] if all(name in others for others in names[1:])]
        return list(filter(is_code, every)) if alternative.in_codes else every

    def _frequencies(self, alternative: Alternative, name: str) -> tuple[Rows, Floats]:
        """The documents with a term in a field, and tf / (1 - b + b · length / average)."""
        key = alternative.term, alternative.form, alternative.compounds, name
        if key not in self._cache:
            postings, stems = self._fields[name], alternative.stems
            if len(stems) == 1:
                documents, counts = postings.counts(self._weigh_forms(alternative), self._size)
                counts = np.maximum(counts, np.float32(LACKED))
            else:
                documents, counts = self._count_phrase(stems, postings)
            self._cache[key] = documents, counts / postings.norms(documents)
        return self._cache[key]

    def _weigh_forms(self, alternative: Alternative) -> Weighed:
        """The forms of a word with weights; the typed one counts most."""
        term, form = alternative.term, alternative.form
        if alternative.compounds:
            lacking = [(LACKING + term, LACKED - 1.0) for term in self._stems(alternative)]
            return [*((word, 1.0) for word in alternative.compounds), *lacking]
        if term[0] in (LACKING, MAYBE_LACKING):
            return [(term, 1.0)]
        plain = self.vocabulary.language.plain
        same = None if form is None else plain(form)
        forms = [
            (word, 1.0 if same in (None, plain(word)) else INFLECTED)
            for word in self.vocabulary.list_forms(term)
        ]
        return [*forms, (LACKING + term, LACKED - 1.0)]

    def _stems(self, alternative: Alternative) -> list[str]:
        """The different stems of an alternative's compounds."""
        if alternative.compounds not in self._stems_of:
            stems = map(self.vocabulary.language.stem, alternative.compounds)
            self._stems_of[alternative.compounds] = list(dict.fromkeys(stems))
        return self._stems_of[alternative.compounds]

    def _count_phrase(self, stems: Sequence[str], postings: Postings) -> tuple[Rows, Floats]:
        """The documents with stems in a row in a field, and counts."""
        return postings.phrase_counts(
            [self.vocabulary.list_forms(term) for term in stems],
            self.vocabulary.code_stems(stems),
            self.vocabulary.stems,
            self._size,
        )

    def _gain(self, alternative: Alternative, idf: float, weights: Mapping[str, float]) -> Floats:
        """The gain of an alternative with a weight in each document."""
        frequency = np.zeros(self._size, np.float32)
        for name in self._names(alternative):
            if weight := weights.get(name, 1.0):
                documents, frequencies = self._frequencies(alternative, name)
                frequency[documents] += np.float32(weight) * frequencies
        most = np.float32(alternative.weight * idf)
        return most * frequency / (np.float32(SATURATION) + frequency)

    def _parts(
        self, documents: Rows, alternative: Alternative, idf: float, weights: Mapping[str, float]
    ) -> dict[str, Floats]:
        """The gain of an alternative with a weight in some documents, by field."""
        parts: dict[str, Floats] = {}
        for name in self._names(alternative):
            if weight := weights.get(name, 1.0):
                having, frequencies = self._frequencies(alternative, name)
                places = np.searchsorted(having, documents)
                matched = np.flatnonzero(places < len(having))
                matched = matched[having[places[matched]] == documents[matched]]
                if len(matched):
                    parts[name] = np.zeros(len(documents), np.float32)
                    parts[name][matched] = np.float32(weight) * frequencies[places[matched]]
        total = sum(parts.values(), np.full(len(documents), SATURATION, np.float32))
        scale = np.float32(alternative.weight * idf) / total
        return {name: scale * part for name, part in parts.items()}
