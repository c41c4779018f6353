"""Days of photos, as queries mean them, and their filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from dateutil.relativedelta import relativedelta

from models.types import Span

KEY = "taken"  # the key of photos' dates, local time in ISO 8601
DAY, MONTH, YEAR = relativedelta(days=1), relativedelta(months=1), relativedelta(years=1)
UNITS = {"day": DAY, "week": relativedelta(weeks=1), "month": MONTH, "year": YEAR}


@dataclass(frozen=True, slots=True)
class Days:
    """Days from `start` to before `end`; None is no bound."""

    start: date | None
    end: date | None

    @property
    def condition(self) -> dict[str, str]:
        """The filter of a key with dates in ISO 8601."""
        bounds = {"gte": self.start, "lt": self.end}
        return {name: day.isoformat() for name, day in bounds.items() if day is not None}

    @property
    def words(self) -> str:
        """The days as people write them.

        >>> Days(date(2021, 6, 1), date(2021, 7, 1)).words
        'June 2021'
        >>> Days(date(2019, 12, 24), date(2019, 12, 27)).words
        '24 December 2019 to 26 December 2019'
        """
        if self.start is None or self.end is None:
            name, day = ("since", self.start) if self.start else ("before", self.end)
            assert day is not None
            return f"{name} {day.year if (day.month, day.day) == (1, 1) else _write(day)}"
        if self.start.day == 1 and self.end == self.start + MONTH:
            return f"{self.start:%B %Y}"
        if (self.start.month, self.start.day, self.end) == (1, 1, self.start + YEAR):
            return str(self.start.year)
        last = self.end - DAY
        return _write(last) if last == self.start else f"{_write(self.start)} to {_write(last)}"


@dataclass(frozen=True, slots=True)
class QueryDate:
    """A date of a text, with the words before it that belong to it; of others, if `negated`."""

    span: Span
    days: Days
    negated: bool = False

    @property
    def condition(self) -> dict[str, Any]:
        """The filter for photos of this date."""
        taken = {KEY: self.days.condition}
        return {"$not": taken} if self.negated else taken

    @property
    def words(self) -> str:
        """The date as people write it."""
        return f"not {self.days.words}" if self.negated else self.days.words


def period(day: date, unit: str) -> Days:
    """Return the week, month or year of a day, or the day itself."""
    starts = {
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }
    start = starts.get(unit, day)
    return Days(start, start + UNITS.get(unit, DAY))


def write_filter(dates: Sequence[QueryDate]) -> dict[str, Any]:
    """The filter for photos of any of some dates, and of none that is negated.

    A date from which on and one up to which photos are meant go together.
    """
    days = [each.days for each in dates if not each.negated]
    since = [each for each in days if each.end is None]
    until = [each for each in days if each.start is None]
    start = max((each.start for each in since if each.start), default=None)
    end = min((each.end for each in until if each.end), default=None)
    if start and end and start < end:
        days = [each for each in days if each not in (*since, *until)] + [Days(start, end)]
    either = [{KEY: each.condition} for each in days]
    filters = [{"$or": either}] if len(either) > 1 else either
    filters += [each.condition for each in dates if each.negated]
    return filters[0] if len(filters) == 1 else {"$and": filters}


def _write(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
