"""Dates in queries: "June 2021", "last summer" and "Christmas 2019" as spans of days.

Expressions that can be nothing but dates are found by their form; dateparser reads those of them
that it knows. Others, such as "may", "sun" or "1984" where no photo is of that year, stay words.
Words before and between dates are read afterwards: "since", "until", "not", "from … to".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dateutil.easter import easter
from dateutil.relativedelta import relativedelta

from models.types import Span

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

KEY = "taken"  # the key of photos' dates, local time in ISO 8601
DAY, MONTH, YEAR = relativedelta(days=1), relativedelta(months=1), relativedelta(years=1)
UNITS = {"day": DAY, "week": relativedelta(weeks=1), "month": MONTH, "year": YEAR}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # their first months
MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
MONTH_NAME = rf"(?:{MONTHS})\.?"
OF_MONTH = rf"\s+(?:of\s+)?{MONTH_NAME}"
DAYS = "mon|tues|wednes|thurs|fri|satur|sun"
NUMBERS = [*("one", "two", "three", "four", "five", "six"), "seven", "eight", "nine", "ten"]
LAST_DAY = r"\b(?:29|30|31)(?:st|th)?\b,?"  # that some months lack
COUNT = rf"(?:\d{{1,3}}|{'|'.join(NUMBERS)})"
CENTURY = r"(?:19|20)\d\d"
NUMBER = r"\d{1,2}(?:st|nd|rd|th)?"
FEASTS = r"christmas|xmas|new year'?s eve|halloween|easter|valentine'?s day"


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


Read = Callable[[re.Match[str], date], Days | None]


@dataclass(frozen=True, slots=True)
class _DatePlace:
    """A date as it stands in a text; where it ends in several dates, `first` is the first."""

    span: Span
    days: Days
    spans: bool = False
    first: Days | None = None


def find_dates(text: str, today: date, years: range) -> list[QueryDate]:
    """Find the dates of a text in order.

    Other years than the photos' `years` are dates only behind a preposition.
    """
    places: list[_DatePlace] = []
    for form, read in FORMS:
        for match in form.finditer(text):
            span = Span(match.start(), match.end())
            if any(span.start < other.span.end and other.span.start < span.end for other in places):
                continue
            days = read(match, today)
            if days is None or (read is _read_lone_year and _is_number(text, match, years)):
                continue
            places.append(_DatePlace(span, days, read in (_read_years, _read_days)))
    places.sort(key=lambda place: place.span.start)
    dates: list[QueryDate] = []
    for place in _join_spans(text, places):
        read_date = _read_before(text, place)
        former = dates[-1] if dates else read_date
        also = ALSO.fullmatch(text, former.span.end, read_date.span.start)
        if also:  # which is no word of what to look for
            span = Span(also.start("word"), read_date.span.end)
            negated = former.negated or read_date.negated
            read_date = replace(read_date, span=span, negated=negated)
        dates.append(read_date)
    return dates


def _join_spans(text: str, places: list[_DatePlace]) -> list[_DatePlace]:
    """Join dates with a word for a span of days between them."""
    joined: list[_DatePlace] = []
    for place in places:
        if joined and (days := _join_days(text, joined[-1], place)):
            former = joined[-1]
            span = Span(former.span.start, place.span.end)
            joined[-1] = _DatePlace(span, days, spans=True, first=former.days)
        else:
            joined.append(place)
    return joined


def _join_days(text: str, former: _DatePlace, latter: _DatePlace) -> Days | None:
    """The days from one date to the next; None without such a word between them."""
    between = BETWEEN if _search_before(BETWEEN_BEFORE, text, former.span.start) else TO
    start, end = former.days.start, latter.days.end
    if start is None or end is None or start >= end:
        return None
    return Days(start, end) if between.fullmatch(text, former.span.end, latter.span.start) else None


def _search_before(pattern: re.Pattern[str], text: str, end: int) -> re.Match[str] | None:
    """Search what stands right before a place."""
    return pattern.search(text, max(0, end - NEAR_BEFORE), end)


def _read_before(text: str, place: _DatePlace) -> QueryDate:
    """Read the words before a date that make it open or negated."""
    match = _search_before(BEFORE, text, place.span.start)
    if match is None:
        return QueryDate(place.span, place.days)
    span, side = Span(match.start("side"), place.span.end), match["side"].casefold().split()[0]
    if side in ("before", "after") and match["unit"]:  # "the night before Christmas 2019"
        return QueryDate(place.span, place.days)
    days = _open(side, place)
    if days is None:
        return QueryDate(span, place.days, negated=True)
    without = _search_before(WITHOUT, text, span.start)
    start = without.start() if without else span.start
    return QueryDate(Span(start, span.end), days, negated=without is not None)


def _open(side: str, place: _DatePlace) -> Days | None:
    """The days that a date and the word before it mean; None where the word negates it."""
    days = place.days
    opened = {
        "between": days,
        "before": Days(None, days.start),
        "after": Days(days.end, None),
        "since": Days(days.start, None),
        **dict.fromkeys(("until", "till", "up"), Days(None, days.end)),
    }
    if place.spans and side in opened:
        start = place.first.end if side == "after" and place.first else days.start
        return Days(start, days.end)
    return opened.get(side)


def write_filter(dates: list[QueryDate]) -> dict[str, Any]:
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


def _is_number(text: str, match: re.Match[str], years: range) -> bool:
    """Return whether four digits may be no year."""
    behind = match["before"] is not None or _search_before(BEFORE, text, match.start()) is not None
    return not behind and int(match["year"]) not in years


def _write(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


@lru_cache(2)
def _parser(today: date) -> DateDataParser:
    from dateparser.date import DateDataParser  # takes a tenth of a second

    base = datetime(today.year, today.month, today.day, 12)
    settings = {"PREFER_DATES_FROM": "past", "RELATIVE_BASE": base, "DATE_ORDER": "DMY"}
    return DateDataParser(languages=["en"], settings=settings)


def _parse(text: str, today: date) -> Days | None:
    """Read a date by dateparser: a day, week, month or year."""
    data = _parser(today).get_date_data(re.sub(r"\bof\b|\bthe\b|'", " ", text.casefold()))
    return None if data.date_obj is None else _period(data.date_obj.date(), data.period)


def _parse_day(text: str, today: date) -> Days | None:
    """Read a date as `_parse`; of a day that its month lacks, the month."""
    days = _parse(text, today)
    if days is None and re.search(MONTHS, text, re.IGNORECASE):
        return _parse(re.sub(LAST_DAY, " ", text), today)
    return days


def _period(day: date, unit: str) -> Days:
    """The week, month or year of a day."""
    starts = {
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "year": day.replace(month=1, day=1),
    }
    start = starts.get(unit, day)
    return Days(start, start + UNITS.get(unit, DAY))


def _read_date(match: re.Match[str], today: date) -> Days | None:
    return _parse_day(match["date"], today)


def _read_lone_year(match: re.Match[str], today: date) -> Days | None:
    year = int(match["year"])
    return _period(date(year, 1, 1), "year") if year <= today.year else None


def _read_years(match: re.Match[str], _: date) -> Days | None:
    first, last = int(match["first"]), int(match["last"])
    return Days(date(first, 1, 1), date(last + 1, 1, 1)) if first <= last else None


def _read_days(match: re.Match[str], today: date) -> Days | None:
    """The days from one month, or day, to another; the month may stand once.

    The first may be of the year before: "24 December to 2 January 2020".
    """
    month = re.search(MONTHS, match.group(), re.IGNORECASE)
    assert month is not None
    ends = (
        end if re.search(MONTHS, end, re.IGNORECASE) else f"{end} {month.group()}"
        for end in match.group("first", "last")
    )
    first, last = (_parse_day(f"{end} {match['year']}", today) for end in ends)
    if first is None or last is None or first.start is None or last.start is None:
        return None
    start = first.start - YEAR if first.start.month > last.start.month else first.start
    return Days(start, last.end) if start <= last.start else None


def _read_decade(match: re.Match[str], today: date) -> Days | None:
    digits = match["decade"]
    year = int(digits) if len(digits) > 2 else 1900 + int(digits)
    if len(digits) == 2 and year + 100 <= today.year:
        year = year + 100 if digits in ("00", "10", "20") else year
    return Days(date(year, 1, 1), date(year + 10, 1, 1))


def _read_last(match: re.Match[str], today: date) -> Days | None:
    """The last days, weeks, months or years up to today."""
    count = match["count"].casefold()
    number = int(count) if count.isdigit() else NUMBERS.index(count) + 1
    unit = UNITS[match["unit"].casefold()]
    return Days(today - unit * number, today + DAY)


def _read_near(match: re.Match[str], today: date) -> Days | None:
    """The last or this week, month, weekend, season, feast or day."""
    last, name = match["which"].casefold() != "this", match["near"].casefold()
    if name in UNITS:
        return _period(today - UNITS[name] if last else today, name)
    if name == "weekend":
        monday = today - timedelta(days=today.weekday())
        saturday = monday - timedelta(days=2) if last or today.weekday() < 5 else monday + 5 * DAY
        return Days(saturday, saturday + 2 * DAY)
    make = _season if name in SEASONS else _feast if re.fullmatch(FEASTS, name) else None
    if make is None:
        days = _parse(name, today)
        return _before(days, today, last=last)
    candidates = [make(name, today.year + step) for step in (0, -1, -2)]
    begun = [days for days in candidates if days.start is not None and days.start <= today]
    if last:
        return next((days for days in begun if days.end is not None and days.end <= today), None)
    return begun[0]


def _before(days: Days | None, today: date, *, last: bool) -> Days | None:
    """The last of a named month or day, or this year's."""
    if days is None or days.start is None or days.end is None:
        return None
    is_month = days.end - days.start > timedelta(days=1)
    if not last:
        start = days.start.replace(year=today.year) if is_month else days.start
        return Days(start, start + MONTH if is_month else start + DAY)
    step = YEAR if is_month else UNITS["week"]
    return days if days.end <= today else Days(days.start - step, days.end - step)


def _season(name: str, year: int) -> Days:
    start = date(year, SEASONS[name], 1)
    return Days(start, start + 3 * MONTH)


def _feast(name: str, year: int) -> Days:
    if name == "easter":
        sunday = easter(year)
        return Days(sunday - timedelta(days=2), sunday + timedelta(days=2))
    if name in ("christmas", "xmas"):
        return Days(date(year, 12, 24), date(year, 12, 27))
    month, day = {"n": (12, 31), "h": (10, 31), "v": (2, 14)}[name[0]]
    return Days(date(year, month, day), date(year, month, day) + DAY)


def _read_season(match: re.Match[str], _: date) -> Days | None:
    return _season(match["season"].casefold(), int(match["year"]))


def _read_feast(match: re.Match[str], _: date) -> Days | None:
    return _feast(match["feast"].casefold(), int(match["year"]))


def _form(pattern: str) -> re.Pattern[str]:
    """An expression between words, with a preposition before it."""
    before = r"(?:(?P<before>in|on|at|from|during|of)\s+)?(?:the\s+)?"
    return re.compile(rf"(?<![\w$€£#.,/:-]){before}{pattern}(?![\w%€£/-]|[.,:]\d)", re.IGNORECASE)


# Words between two dates, and those before one.
TO = re.compile(r"\s*(?:-|–|\b(?:to|until|till|through)\b)\s*", re.IGNORECASE)
BETWEEN = re.compile(rf"{TO.pattern}|\s+and\s+", re.IGNORECASE)
BETWEEN_BEFORE = re.compile(r"\bbetween\s+\Z", re.IGNORECASE)
NEGATIONS = r"(?:but\s+)?not|without|except|excluding|other\s+than"
UNITS_BEFORE = r"(?:day|night|morning|evening|weekend|week|month|year|eve)s?"
BEFORE = re.compile(
    rf"(?<![\w-])(?P<unit>{UNITS_BEFORE}\s+)?"
    rf"(?P<side>before|after|since|until|till|up\s+to|between|{NEGATIONS})\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
WITHOUT = re.compile(rf"(?<![\w-])(?:{NEGATIONS})\s+\Z", re.IGNORECASE)
ALSO = re.compile(r"\s*,?\s*(?P<word>or|and|nor)\s+", re.IGNORECASE)
NEAR_BEFORE = 40  # characters before a date that are read
DATED = "|".join(
    (
        rf"{NUMBER}\s+(?:of\s+)?(?:{MONTHS})\.?,?\s+{CENTURY}",
        rf"(?:{MONTHS})\.?\s+{NUMBER},?\s+{CENTURY}",
        rf"(?:{MONTHS})\.?,?\s+(?:of\s+)?{CENTURY}",
        rf"{CENTURY}-(?:0[1-9]|1[0-2])(?:-\d\d)?",
        rf"\d{{1,2}}\.\d{{1,2}}\.{CENTURY}",
    )
)


DAY_OR_MONTH = rf"(?:{NUMBER}\s+(?:of\s+)?)?{MONTH_NAME}(?:\s+{NUMBER})?"


def _span_form(first: str, last: str) -> re.Pattern[str]:
    """An expression for a span of days in a year, from one to another or between both."""
    return _form(
        rf"(?P<between>between\s+(?:the\s+)?)?(?P<first>{first})"
        rf"(?:{TO.pattern}|(?(between)\s+and\s+|(?!)))"
        rf"(?:the\s+)?(?P<last>{last}),?\s+(?:of\s+)?(?P<year>{CENTURY})"
    )


NEAR = rf"week|month|year|weekend|{'|'.join(SEASONS)}|{FEASTS}|(?:{DAYS})day|{MONTHS}"
FORMS: tuple[tuple[re.Pattern[str], Read], ...] = (
    (
        _form(
            rf"(?P<between>between\s+(?:the\s+)?(?:years\s+|\w+\s+of\s+)?)?(?P<first>{CENTURY})"
            rf"(?:\s*(?:-|–|to|until)\s*|(?(between)\s+and\s+|(?!)))(?P<last>{CENTURY})"
        ),
        _read_years,
    ),
    (_span_form(DAY_OR_MONTH, rf"(?:{NUMBER}\s+(?:of\s+)?)?{MONTH_NAME}"), _read_days),
    (
        _span_form(
            rf"{NUMBER}(?:\s+(?:of\s+)?{MONTH_NAME})?", rf"{NUMBER}\s+(?:of\s+)?{MONTH_NAME}"
        ),
        _read_days,
    ),
    (_span_form(rf"{MONTH_NAME}\s+{NUMBER}", rf"(?:{MONTH_NAME}\s+)?{NUMBER}"), _read_days),
    (_form(rf"(?P<date>{DATED})"), _read_date),
    (_form(rf"(?P<season>{'|'.join(SEASONS)})\s+(?:of\s+)?(?P<year>{CENTURY})"), _read_season),
    (_form(rf"(?P<feast>{FEASTS})\s+(?:of\s+)?(?P<year>{CENTURY})"), _read_feast),
    (_form(rf"(?:last|past)\s+(?P<count>{COUNT})\s+(?P<unit>day|week|month|year)s"), _read_last),
    (_form(rf"(?P<which>last|past|this)\s+(?P<near>{NEAR})"), _read_near),
    (_form(r"(?P<date>(?:day before )?yesterday|today)"), _read_date),
    (_form(rf"(?P<date>(?:an?|{COUNT})\s+(?:day|week|month|year)s?\s+ago)"), _read_date),
    (re.compile(rf"\bin\s+(?P<date>{MONTHS})(?![\w-])", re.IGNORECASE), _read_date),
    (_form(r"(?P<decade>(?:19|20)\d0)'?s"), _read_decade),
    (re.compile(r"\b(?:in|from)\s+the\s+(?P<decade>\d0)'?s\b", re.IGNORECASE), _read_decade),
    (_form(rf"(?P<year>{CENTURY})"), _read_lone_year),
)
