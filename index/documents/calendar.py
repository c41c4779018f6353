"""Calendar: dated texts, counted by years, months or days."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from index.conditions import Scalar, compose
from index.distinct import find_distinct

Level = Literal["year", "month", "day"]
LEVELS: tuple[Level, ...] = ("year", "month", "day")
# The beginnings of dates in ISO 8601, as text: local time comes first, its offset behind it.
BEGINNINGS: Mapping[Level, re.Pattern[str]] = {
    "year": re.compile(r"[0-9]{4}(?=-)"),
    "month": re.compile(r"[0-9]{4}-[0-9]{2}(?=-)"),
    "day": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
}
MOST_YEARS, MOST_MONTHS = 3, 3  # up to which dates are counted by months, and by days
MOST_PERIODS = 1_000  # months or days; more are counted by the next longer period


@dataclass(frozen=True, slots=True)
class Period:
    """A year, month or day such as 2019-08, and its number of documents."""

    value: str
    count: int

    @property
    def prefix(self) -> str:
        """The beginning of all its texts, and of no others: a filter."""
        return self.value if len(self.value) == len("2019-08-04") else f"{self.value}-"


@dataclass(frozen=True, slots=True)
class Periods:
    """The periods with documents, in order, and their level."""

    by: Level
    counts: tuple[Period, ...]


class Calendar:
    """The periods of a column's values; values are never removed."""

    def __init__(self) -> None:
        self._names: dict[Level, list[str]] = {level: [] for level in LEVELS}
        self._numbers: dict[Level, dict[str, int]] = {level: {} for level in LEVELS}
        self._codes = {level: array("q") for level in LEVELS}

    def extend(self, values: Sequence[Scalar]) -> None:
        """Take in the values after those of the last call."""
        for value in values[len(self._codes["year"]) :]:
            text = compose(value) if isinstance(value, str) else ""
            dated = BEGINNINGS["year"].match(text) is not None
            for level in LEVELS:
                begins = BEGINNINGS[level].match(text) if dated else None
                self._codes[level].append(-1 if begins is None else self._name(level, begins[0]))

    def _name(self, level: Level, name: str) -> int:
        numbers = self._numbers[level]
        if name not in numbers:
            numbers[name] = len(numbers)
            self._names[level].append(name)
        return numbers[name]

    def count(
        self, documents: NDArray[np.int64], codes: NDArray[np.int64], by: Level | None
    ) -> Periods | None:
        """Count documents (E,) with values of some codes (E,) by their periods.

        None where no value is a date. A document counts once in a period.
        """
        level = by or self._choose(codes)
        while True:
            counts = self._count(documents, codes, level)
            if level == "year" or len(counts) <= MOST_PERIODS:
                break
            level = LEVELS[LEVELS.index(level) - 1]
        return Periods(level, counts) if counts else None

    def _count(
        self, documents: NDArray[np.int64], codes: NDArray[np.int64], level: Level
    ) -> tuple[Period, ...]:
        names = self._names[level]
        periods = np.array(self._codes[level], np.int64)[codes]
        dated = periods >= 0
        places = documents[dated] * len(names) + periods[dated]
        if (np.diff(documents[dated]) == 0).any():
            places = find_distinct(places)
        if not len(places):
            return ()
        counts = np.bincount(places % len(names), minlength=len(names))
        present = [(names[at], int(counts[at])) for at in np.flatnonzero(counts).tolist()]
        return tuple(Period(*pair) for pair in sorted(present))

    def _choose(self, codes: NDArray[np.int64]) -> Level:
        """Years for long spans, days for short ones."""
        if len(self._list_names("year", codes)) > MOST_YEARS:
            return "year"
        return "month" if len(self._list_names("month", codes)) > MOST_MONTHS else "day"

    def _list_names(self, level: Level, codes: NDArray[np.int64]) -> list[int]:
        present = find_distinct(np.array(self._codes[level], np.int64)[codes])
        listed: list[int] = present[present >= 0].tolist()
        return listed
