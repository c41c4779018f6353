"""The dates of a text, with the words before and between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date

from index.photos.dates.days import Days, QueryDate
from index.photos.dates.expressions import EXPRESSIONS, TO
from models.types import Span

# Words between two dates, and those before one.
JOINING = re.compile(TO, re.IGNORECASE)
BETWEEN = re.compile(rf"{TO}|\s+and\s+", re.IGNORECASE)
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
    for expression in EXPRESSIONS:
        for match in expression.form.finditer(text):
            span = Span(match.start(), match.end())
            if any(span.start < other.span.end and other.span.start < span.end for other in places):
                continue
            days = expression.read(match, today)
            if days is None or (expression.is_number and _is_number(text, match, years)):
                continue
            places.append(_DatePlace(span, days, expression.spans))
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
    between = BETWEEN if _search_before(BETWEEN_BEFORE, text, former.span.start) else JOINING
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


def _is_number(text: str, match: re.Match[str], years: range) -> bool:
    """Return whether four digits may be no year."""
    behind = match["before"] is not None or _search_before(BEFORE, text, match.start()) is not None
    return not behind and int(match["year"]) not in years
