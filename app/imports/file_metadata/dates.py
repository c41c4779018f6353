"""Dates of photos from EXIF, XMP and file names, as ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from unicodedata import normalize

EARLIEST = 1826  # the year of the oldest photo
RESET = ("1970-01-01T00:00:00", "1904-01-01T00:00:00")  # clocks that were never set
FARTHEST = 14 * 60  # minutes of the largest offset from UTC
QUARTER = 15  # minutes: offsets are multiples of it

WHEN = re.compile(
    r"\s*(?P<year>\d{4})[-:/.](?P<month>\d\d?)(?:[-:/.](?P<day>\d\d?))?"
    r"(?:[T\s]+(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?)?"
    r"\s*(?P<offset>Z|[+-]\d\d:?\d\d)?\s*\0*",
    re.ASCII,
)
OFFSET = re.compile(r"\s*(?:Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))\s*\0*", re.ASCII)
DAY_IN_NAME = r"(?P<year>(?:19|20)\d\d)(?P<dash>[-_.]?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)"
AT = r"at|um|à|às|a las|alle|om|kl\."  # before the time of a screenshot, in some languages
TIME_IN_NAME = (
    rf"(?P<between>(?:[-_.\sT]|\s(?:{AT})\s)+)"
    r"(?P<hour>\d\d?)(?P<mark>[-_.:h]?)(?P<minute>\d\d)"
    r"(?:(?P=mark)(?P<second>\d\d))?(?:\d{3})?(?:\s?(?P<half>[AP]M))?"
)
IN_NAME = re.compile(rf"(?<!\d){DAY_IN_NAME}(?:{TIME_IN_NAME})?(?!\d)", re.ASCII | re.IGNORECASE)
EPOCH_IN_NAME = re.compile(r"(?<!\d)(?P<milliseconds>1[0-7]\d{11})(?!\d)", re.ASCII)
EXACT = len("2019-08-04T15:22:10")  # characters of a local time
TO_MINUTES = ("year", "month", "day", "hour", "minute")
IN_UTC = ("PXL_",)  # Pixel phones name files in UTC


def read_date(text: str, offset: str = "") -> str | None:
    """Read a date of EXIF or XMP; None unless it is possible.

    >>> read_date("2019:08:04 15:22:10", "+01:00")
    '2019-08-04T15:22:10+01:00'
    >>> read_date("0000:00:00 00:00:00")
    """
    match = WHEN.fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict()
    if parts["day"] is None or parts["hour"] is None:
        return _write_day(parts)
    return _write_time(parts, parts["offset"] or offset)


def read_offset(text: str) -> str:
    """Read an offset from UTC; empty unless it is one.

    >>> read_offset("-0330")
    '-03:30'
    """
    match = OFFSET.fullmatch(text)
    if match is None:
        return ""
    if match["sign"] is None:
        return "+00:00"
    minutes = int(match["hours"]) * 60 + int(match["minutes"])
    return f"{match['sign']}{match['hours']}:{match['minutes']}" if minutes <= FARTHEST else ""


def read_name(name: str) -> str | None:
    """Read the date in a file's name; None without one.

    >>> read_name("IMG_20190804_152210.jpg")
    '2019-08-04T15:22:10'
    >>> read_name("WhatsApp Image 2019-08-04 at 3.22.10 PM.jpeg")
    '2019-08-04T15:22:10'
    >>> read_name("IMG-20190804-WA0001.jpg"), read_name("20190804_0012.jpg")
    ('2019-08-04', '2019-08-04')
    """
    name = normalize("NFKC", name)  # macOS has narrow spaces and apart accents
    for match in IN_NAME.finditer(name):
        parts = match.groupdict()
        offset = "Z" if name.startswith(IN_UTC) else ""
        timed = None if _is_counter(parts) else _write_time(_in_24_hours(parts), offset)
        if written := timed or _write_day(parts):
            return written
    epoch = EPOCH_IN_NAME.search(name)
    return write_moment(int(epoch["milliseconds"]) / 1000) if epoch else None


def _is_counter(parts: Mapping[str, str | None]) -> bool:
    """Return whether digits behind a day are no time: "20190804_0012"."""
    if parts["hour"] is None or parts["mark"] or parts["half"]:
        return False
    if any(map(str.isalpha, parts["between"] or "")):  # "at", "T"
        return False
    return parts["second"] is None or len(parts["hour"]) == 1


def write_moment(seconds: float) -> str | None:
    """Write seconds since 1970 as a date in UTC; None unless possible."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return _check(moment.isoformat(timespec="seconds"), moment)


def write_file_time(seconds: float) -> str | None:
    """Write a file's time of change as a local date."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return _check(moment.isoformat(timespec="seconds"), moment)


def derive_offset(local: str, utc: datetime) -> str:
    """Return the offset of a local time from satellites; else empty.

    >>> derive_offset("2019-08-04T15:22:10", datetime(2019, 8, 4, 14, 21, 55))
    '+01:00'
    """
    minutes = (datetime.fromisoformat(local).replace(tzinfo=None) - utc).total_seconds() / 60
    nearest = round(minutes / QUARTER) * QUARTER
    if abs(nearest) > FARTHEST or abs(minutes - nearest) > QUARTER / 3:
        return ""
    sign, size = "-" if nearest < 0 else "+", abs(nearest)
    return f"{sign}{size // 60:02}:{size % 60:02}"


def write_local(moment: str, named: str | None) -> str:
    """Write a moment in UTC as a name's local time.

    >>> write_local("2022-03-04T09:11:12+00:00", "2022-03-04T10:11:12")
    '2022-03-04T10:11:12+01:00'
    >>> write_local("2022-03-04T09:11:12+00:00", "2019-08-04T15:22:10")
    '2022-03-04T09:11:12+00:00'
    """
    if named is None or len(named) != EXACT or not moment.endswith("+00:00"):
        return moment
    offset = derive_offset(named, datetime.fromisoformat(moment).replace(tzinfo=None))
    return f"{named}{offset}" if offset else moment


def _in_24_hours(parts: dict[str, str | None]) -> dict[str, str | None]:
    half, hour = (parts.get("half") or "").upper(), parts.get("hour")
    if not half or hour is None or not 1 <= int(hour) <= 12:
        return parts
    return {**parts, "hour": str(int(hour) % 12 + (12 if half == "PM" else 0))}


def _write_time(parts: dict[str, str | None], offset: str) -> str | None:
    """Write a date with its time, and a valid offset."""
    try:
        year, month, day, hour, minute = (int(parts[name] or "") for name in TO_MINUTES)
        moment = datetime(year, month, day, hour, minute, min(59, int(parts["second"] or 0)))
    except ValueError:
        return None
    written = moment.isoformat(timespec="seconds")
    return _check(written + read_offset(offset), moment)


def _write_day(parts: dict[str, str | None]) -> str | None:
    """Write a date without a time, or a month."""
    try:
        year, month, day = (int(parts[name] or 1) for name in ("year", "month", "day"))
        whole = date(year, month, day)
    except ValueError:
        return None
    written = whole.isoformat() if parts["day"] else f"{year:04}-{month:02}"
    return _check(written, datetime(year, month, day))


def _check(written: str, moment: datetime) -> str | None:
    """Return a possible date of a photo; None for others."""
    zone = moment.tzinfo or timezone(timedelta(hours=14))  # the first to reach a day
    if moment.year < EARLIEST or written[:19] in RESET:
        return None
    try:
        future = moment.replace(tzinfo=zone) > datetime.now(UTC) + timedelta(days=1)
    except OverflowError:
        return None
    return None if future else written
