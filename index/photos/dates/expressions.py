"""Expressions that can be nothing but dates, and what they mean.

dateparser reads those that it knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from dateutil.easter import easter

from index.photos.dates.days import DAY, MONTH, UNITS, YEAR, Days, period

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

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
TO = r"\s*(?:-|–|\b(?:to|until|till|through)\b)\s*"  # between two dates
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
NEAR = rf"week|month|year|weekend|{'|'.join(SEASONS)}|{FEASTS}|(?:{DAYS})day|{MONTHS}"


@dataclass(frozen=True, slots=True)
class Expression:
    """A form of dates, and how one is read with today's date.

    spans: whether it is of days from one to another. is_number: whether it may be a number instead.
    """

    form: re.Pattern[str]
    read: Callable[[re.Match[str], date], Days | None]
    spans: bool = False
    is_number: bool = False


@lru_cache(2)
def _parser(today: date) -> DateDataParser:
    from dateparser.date import DateDataParser  # takes a tenth of a second

    base = datetime(today.year, today.month, today.day, 12)
    settings = {"PREFER_DATES_FROM": "past", "RELATIVE_BASE": base, "DATE_ORDER": "DMY"}
    return DateDataParser(languages=["en"], settings=settings)


def _parse(text: str, today: date) -> Days | None:
    """Read a date by dateparser: a day, week, month or year."""
    data = _parser(today).get_date_data(re.sub(r"\bof\b|\bthe\b|'", " ", text.casefold()))
    return None if data.date_obj is None else period(data.date_obj.date(), data.period)


def _parse_day(text: str, today: date) -> Days | None:
    """Read a date as `_parse`; of a day that its month lacks, the month."""
    days = _parse(text, today)
    if days is None and re.search(MONTHS, text, re.IGNORECASE):
        return _parse(re.sub(LAST_DAY, " ", text), today)
    return days


def _read_date(match: re.Match[str], today: date) -> Days | None:
    return _parse_day(match["date"], today)


def _read_lone_year(match: re.Match[str], today: date) -> Days | None:
    year = int(match["year"])
    return period(date(year, 1, 1), "year") if year <= today.year else None


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
        return period(today - UNITS[name] if last else today, name)
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


def _span_form(first: str, last: str) -> re.Pattern[str]:
    """An expression for a span of days in a year, from one to another or between both."""
    return _form(
        rf"(?P<between>between\s+(?:the\s+)?)?(?P<first>{first})"
        rf"(?:{TO}|(?(between)\s+and\s+|(?!)))"
        rf"(?:the\s+)?(?P<last>{last}),?\s+(?:of\s+)?(?P<year>{CENTURY})"
    )


EXPRESSIONS = (
    Expression(
        _form(
            rf"(?P<between>between\s+(?:the\s+)?(?:years\s+|\w+\s+of\s+)?)?(?P<first>{CENTURY})"
            rf"(?:\s*(?:-|–|to|until)\s*|(?(between)\s+and\s+|(?!)))(?P<last>{CENTURY})"
        ),
        _read_years,
        spans=True,
    ),
    Expression(
        _span_form(DAY_OR_MONTH, rf"(?:{NUMBER}\s+(?:of\s+)?)?{MONTH_NAME}"), _read_days, spans=True
    ),
    Expression(
        _span_form(
            rf"{NUMBER}(?:\s+(?:of\s+)?{MONTH_NAME})?", rf"{NUMBER}\s+(?:of\s+)?{MONTH_NAME}"
        ),
        _read_days,
        spans=True,
    ),
    Expression(
        _span_form(rf"{MONTH_NAME}\s+{NUMBER}", rf"(?:{MONTH_NAME}\s+)?{NUMBER}"),
        _read_days,
        spans=True,
    ),
    Expression(_form(rf"(?P<date>{DATED})"), _read_date),
    Expression(
        _form(rf"(?P<season>{'|'.join(SEASONS)})\s+(?:of\s+)?(?P<year>{CENTURY})"), _read_season
    ),
    Expression(_form(rf"(?P<feast>{FEASTS})\s+(?:of\s+)?(?P<year>{CENTURY})"), _read_feast),
    Expression(
        _form(rf"(?:last|past)\s+(?P<count>{COUNT})\s+(?P<unit>day|week|month|year)s"), _read_last
    ),
    Expression(_form(rf"(?P<which>last|past|this)\s+(?P<near>{NEAR})"), _read_near),
    Expression(_form(r"(?P<date>(?:day before )?yesterday|today)"), _read_date),
    Expression(_form(rf"(?P<date>(?:an?|{COUNT})\s+(?:day|week|month|year)s?\s+ago)"), _read_date),
    Expression(re.compile(rf"\bin\s+(?P<date>{MONTHS})(?![\w-])", re.IGNORECASE), _read_date),
    Expression(_form(r"(?P<decade>(?:19|20)\d0)'?s"), _read_decade),
    Expression(
        re.compile(r"\b(?:in|from)\s+the\s+(?P<decade>\d0)'?s\b", re.IGNORECASE), _read_decade
    ),
    Expression(_form(rf"(?P<year>{CENTURY})"), _read_lone_year, is_number=True),
)
