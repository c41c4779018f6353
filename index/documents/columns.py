"""Columns: the metadata values of a key in memory, to filter, count and sort by."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from index.conditions import Equals, Number, Scalar, Simple, Within, canonical, is_met, number_of
from index.distinct import find_distinct
from index.documents.calendar import Calendar, Level, Periods
from index.documents.characters import fold
from index.documents.facet_counts import Facet, count_ranges, round_bounds
from index.documents.words import words

LONGEST = 4  # words of a phrase
Collated = tuple[str | int, ...]
SortKey = tuple[int, Number, Collated, str]
EXACT = 2.0**53  # doubles hold whole numbers below it exactly
DIGITS = re.compile(r"([0-9]{1,15})")


def fold_words(text: str) -> str:
    """Fold the words of a text for comparison."""
    return " ".join(word.joined for word in words(text))


class Phrases:
    """Values of two to LONGEST words by their beginnings; values are never removed."""

    def __init__(self) -> None:
        self._sorted: list[tuple[str, int]] = []
        self._size = 0

    def extend(self, values: Sequence[Scalar]) -> None:
        """Take in the values that came after those of the last call."""
        if self._size == len(values):
            return
        self._sorted += [
            (fold_words(value), code)
            for code, value in enumerate(values[self._size :], self._size)
            if isinstance(value, str) and 0 < value.count(" ") < LONGEST
        ]
        self._sorted.sort()
        self._size = len(values)

    def beginning(self, prefix: str) -> list[int]:
        """The codes of the values whose folded words begin with a prefix."""
        first = bisect_left(self._sorted, (prefix, -1))
        last = bisect_left(self._sorted, (prefix + "\U0010ffff", -1))
        return [code for _, code in self._sorted[first:last]]


Mask = NDArray[np.bool_]
Codes = NDArray[np.int64]
NO_CODES = np.empty(0, np.int64)


class Column:
    """The values of a key: document `documents[e]` has the value of code `codes[e]`.

    A document may have several values; it comes after those that were added before. There may be
    a column for each key of each item, so what only searches need is made when one needs it.
    """

    # Replaced in an instance that has values, and is asked.
    numeric = False  # whether any value is a number
    _arrays: tuple[Codes, Codes] = NO_CODES, NO_CODES
    _values = np.empty(0)  # the numbers of all codes
    _ranks: tuple[int, Codes] = 0, NO_CODES

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}
        self.values: list[Scalar] = []
        self._numbers = array("d")  # of each code, NaN where it is no number
        self._documents, self._codes = array("q"), array("q")

    def add(self, document: int, canonical: Iterable[str]) -> None:
        """Add a document's values as canonical texts, each once."""
        for text in canonical:
            code = self._code_of.get(text)
            if code is None:
                code = self._code_of[text] = len(self.values)
                value = json.loads(text)
                number = number_of(value)
                self.values.append(value)
                self._numbers.append(np.nan if number is None else number)
                if number is not None:
                    self.numeric = True
            self._documents.append(document)
            self._codes.append(code)

    @cached_property
    def _fitting(self) -> Callable[[Simple, int], Mask]:
        return lru_cache(32)(self._fit)

    @cached_property
    def _keys(self) -> list[SortKey]:
        """The sort keys of the first codes, as many as were needed."""
        return []

    @cached_property
    def _phrases(self) -> Phrases:
        return Phrases()

    @cached_property
    def _calendar(self) -> Calendar:
        return Calendar()

    @property
    def entries(self) -> tuple[Codes, Codes]:
        """The documents (E,) and codes (E,) of all values."""
        if len(self._arrays[0]) != len(self._codes):
            self._arrays = np.array(self._documents, np.int64), np.array(self._codes, np.int64)
            self._values = np.array(self._numbers)
        return self._arrays

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers (E,) of all values, NaN where they are none."""
        _, codes = self.entries
        numbers: NDArray[np.float64] = self._values[codes]
        return numbers

    def having(self, condition: Simple) -> Codes:
        """The documents with a value that a condition on this key holds for."""
        documents, codes = self.entries
        return documents[self._fitting(condition, len(self.values))[codes]]

    def _fit(self, condition: Simple, size: int) -> Mask:
        """For each code whether the condition holds for its value."""
        fitting = np.zeros(size, np.bool_)
        if isinstance(condition, Equals):
            codes = [self._code_of[text] for text in condition.values if text in self._code_of]
            fitting[codes] = True
        elif isinstance(condition, Within) and condition.numeric:
            numbers = np.array(self._numbers)
            fitting[:] = condition.holds(numbers)
            for code in np.flatnonzero(np.abs(numbers) >= EXACT).tolist():
                fitting[code] = is_met(condition, self.values[code])
        else:
            fitting[:] = [is_met(condition, value) for value in self.values]
        return fitting

    def beginning(self, prefix: str) -> list[int]:
        """The codes of the values of a few words that begin with a folded prefix."""
        self._phrases.extend(self.values)
        return self._phrases.beginning(prefix)

    def first_codes(self, size: int) -> Codes:
        """The smallest code of each of the first `size` documents, -1 where there is none."""
        documents, codes = self.entries
        first = np.full(size, len(self.values), np.int64)
        np.minimum.at(first, documents, codes)
        first[first == len(self.values)] = -1
        return first

    def sort_keys(self, size: int, descending: bool) -> Codes:
        """The place of each of the first `size` documents by its value; without one, the last.

        Of several values, the one that comes first counts. Numbers come before texts, in order.
        """
        documents, codes = self.entries
        places = np.full(size, len(self.values), np.int64)
        np.minimum.at(places, documents, self._place_values(descending)[codes])
        return places

    def value_at(self, place: int, descending: bool) -> tuple[Scalar, ...]:
        """The value of a place of `sort_keys`; none of the last one."""
        codes = np.flatnonzero(self._place_values(descending) == place)
        return tuple(self.values[code] for code in codes)

    def place_of(self, value: tuple[Scalar, ...], descending: bool) -> float:
        """The place of a value of `value_at`, which may be gone: then it is between two."""
        if not value:
            return len(self.values)
        code = self._code_of.get(canonical(value[0]))
        if code is not None:
            return float(self._place_values(descending)[code])
        others = Column()
        others.add(0, [canonical(other) for other in (*self.values, value[0])])
        return float(others._place_values(descending)[-1]) - 0.5

    def _place_values(self, descending: bool) -> Codes:
        """The place of each code in an order."""
        ranks = self._rank_values()
        return self._reverse(ranks) if descending else ranks

    def _reverse(self, ranks: Codes) -> Codes:
        """Reverse the ranks of numbers, and then those of others."""
        numbers = ~np.isnan(np.array(self._numbers))
        count = int(np.count_nonzero(numbers))
        last: Codes = np.where(numbers, count - 1, len(ranks) + count - 1)
        return last - ranks

    def shares(self, size: int) -> NDArray[np.float64]:
        """The numbers of the first `size` documents, scaled to 0 to 1; 0 without one."""
        (documents, _), numbers = self.entries, self.numbers
        numeric = ~np.isnan(numbers)
        shares = np.zeros(size)
        if numeric.any():
            least, most = numbers[numeric].min(), numbers[numeric].max()
            width = most - least or 1.0
            np.maximum.at(shares, documents[numeric], (numbers[numeric] - least) / width)
        return shares

    def counts(self, counted: Mask) -> Codes:
        """Count the documents of a mask (N,) by the code of their value."""
        documents, codes = self.entries
        return np.bincount(codes[counted[documents]], minlength=len(self.values))

    def facet(
        self,
        key: str,
        counted: Mask,
        most: int,
        bounds: Iterable[float] = (),
        by: Level | None = None,
        groups: Codes | None = None,
    ) -> Facet:
        """Count the values of the documents of a mask (N,), up to `most` of them.

        Dates are counted `by` periods as well. Of each of `groups` (N,) a value counts once.
        """
        documents, codes = self.entries
        inside = counted[documents]
        documents, codes = documents[inside], codes[inside]
        lacking = counted.copy()
        lacking[documents] = False
        missing = int(np.count_nonzero(lacking))
        if groups is not None:
            missing = len(find_distinct(groups[lacking]))
            pairs = find_distinct(groups[documents] * len(self.values) + codes)
            documents, codes = np.divmod(pairs, len(self.values))
        counts = np.bincount(codes, minlength=len(self.values))
        present = np.flatnonzero(counts)
        values = tuple(
            (self.values[code], int(counts[code])) for code in self._find_most(counts, most)
        )
        periods = self._count_periods(documents, codes, by)
        numbers = self._values[codes] if self.numeric else np.empty(0)
        numeric = ~np.isnan(numbers)
        if not numeric.any():
            return Facet(key, values, len(present), missing, periods=periods)
        documents, numbers = documents[numeric], numbers[numeric]
        least, largest = float(numbers.min()), float(numbers.max())
        edges = sorted(set(bounds)) or round_bounds(least, largest)
        ranges = count_ranges(documents, numbers, edges)
        return Facet(key, values, len(present), missing, least, largest, ranges, periods)

    def count_periods(self, counted: Mask, by: Level | None = None) -> Periods | None:
        """Count the documents of a mask (N,) by years, months or days; None without dates."""
        documents, codes = self.entries
        inside = counted[documents]
        return self._count_periods(documents[inside], codes[inside], by)

    def _count_periods(self, documents: Codes, codes: Codes, by: Level | None) -> Periods | None:
        self._calendar.extend(self.values)
        return self._calendar.count(documents, codes, by)

    def _find_most(self, counts: Codes, most: int) -> list[int]:
        """The codes with the highest counts; equal counts in the order of their values."""
        present = np.flatnonzero(counts)
        order = self._rank_values()[present] - counts[present] * len(self.values)
        if most < len(present):
            present = present[np.argpartition(order, most)[:most]]
            order = self._rank_values()[present] - counts[present] * len(self.values)
        codes: list[int] = present[np.argsort(order)].tolist()
        return codes

    def _rank_values(self) -> Codes:
        """The place of each code among the sorted values: numbers, then texts, then others."""
        size, ranks = self._ranks
        if size != len(self.values):
            self._keys += map(self._sort_key, range(len(self._keys), len(self.values)))
            order = sorted(range(len(self.values)), key=self._keys.__getitem__)
            ranks = np.empty(len(order), np.int64)
            ranks[order] = np.arange(len(order))
            self._ranks = len(order), ranks
        return ranks

    def _sort_key(self, code: int) -> SortKey:
        value = self.values[code]
        if isinstance(value, str):
            return 1, 0.0, collate(value), value
        number = number_of(value)
        return (2, 0.0, (), str(value)) if number is None else (0, number, (), "")


def collate(text: str) -> Collated:
    """A sort key of a text, without case and accents, numbers by value.

    >>> sorted(["Zulu", "élan", "beta 10", "Äpfel", "Beta 9", "Alpha"], key=collate)
    ['Alpha', 'Äpfel', 'Beta 9', 'beta 10', 'élan', 'Zulu']
    """
    parts = DIGITS.split(fold(text))
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts))
