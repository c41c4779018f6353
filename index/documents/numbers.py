"""Numbers in one notation, and other notations of the same number."""

from __future__ import annotations

import re
from collections.abc import Iterator

POINT, COMMA = r"\d{1,3}(?:\.\d{3})", r"\d{1,3}(?:,\d{3})"
# With signs between thousands: 1,299.00 and 1,299; 1.299,00 and 1.234.567. "1.299" may be either.
GROUPED = re.compile(rf"{COMMA}+(?:\.\d+)?|{POINT}+,\d+|{POINT}{{2,}}")
DECIMAL = re.compile(r"\d+[.,]\d+")
PLAIN = re.compile(r"(\d+)(?:\.(\d+))?")
THOUSANDS = 3  # digits


def fold_number(written: str) -> list[str]:
    """A number with a point before its decimals, thousands unparted.

    Several for a list such as "36,37,38".

    >>> [fold_number(written) for written in ("1,299.00", "1.299,00", "2,5", ".5", "1.2.3")]
    [['1299.00'], ['1299.00'], ['2.5'], ['0.5'], ['1.2.3']]
    """
    if written.isdigit():
        return [written]
    written = written.replace("٫", ".")
    number = "0" + written if written[0] in ".," else written
    if GROUPED.fullmatch(number):
        return [_ungroup(number)]
    if DECIMAL.fullmatch(number):
        return [number.replace(",", ".")]
    listed = number if written[0] == "." else written
    return [part for part in listed.split(",") if part]


def _ungroup(number: str) -> str:
    last = max(number.rfind("."), number.rfind(","))
    is_decimal = number.count(number[last]) == 1 and len({*number} & {".", ","}) == 2
    digits = re.sub("[.,]", "", number[:last])
    return digits + ("." if is_decimal else "") + number[last + 1 :]


def other_ways(number: str) -> Iterator[str]:
    """List other notations of a folded number: zeros behind, points between thousands.

    >>> [[*other_ways(number)] for number in ("2.50", "2", "10000")]
    [['2.5', '2.500'], ['2.0', '2.00'], ['10000.0', '10000.00', '10.000']]
    """
    match = PLAIN.fullmatch(number)
    if match is None:
        return
    whole, decimals = match[1], match[2] or ""
    least = decimals.rstrip("0")
    for others in (least, f"{least}0", f"{least}00"):
        if others != decimals and len(others) <= THOUSANDS:
            yield f"{whole}.{others}" if others else whole
    if not decimals and THOUSANDS < len(whole) <= 2 * THOUSANDS:
        yield f"{whole[:-THOUSANDS]}.{whole[-THOUSANDS:]}"
    if len(decimals) == THOUSANDS and 0 < len(whole.lstrip("0")) <= THOUSANDS:
        yield whole + decimals
