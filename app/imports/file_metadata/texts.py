"""Texts and numbers of files, cleaned and bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

LONGEST_LINE = 500  # characters of a title, a name or a keyword
LONGEST_TEXT = 10_000  # characters of a description
MOST_WORDS = 200  # keywords, or people
UNUSABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
SPACES = re.compile(r"\s+")


def decode_text(data: Any) -> str:
    """Decode a text in UTF-8, or else in Latin-1."""
    if isinstance(data, str):
        try:  # Pillow reads tags as Latin-1, and phones write UTF-8
            return data.encode("latin-1").decode("utf-8")
        except UnicodeError:
            return data
    if not isinstance(data, bytes):
        return ""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def clean_line(data: Any) -> str:
    """Return a text as one line, bounded, without control characters."""
    line = SPACES.sub(" ", UNUSABLE.sub(" ", decode_text(data)[: 4 * LONGEST_LINE])).strip()
    return line[:LONGEST_LINE]


def clean_text(data: Any) -> str:
    """Return a bounded text without control characters."""
    return UNUSABLE.sub("", decode_text(data)[:LONGEST_TEXT]).strip()


def clean_lines(many: Iterable[Any]) -> list[str]:
    """Return different lines in order, without empty ones."""
    lines = dict.fromkeys(clean_line(each) for each in many)
    return [line for line in lines if line][:MOST_WORDS]


def read_number(value: Any) -> float | None:
    """Read a finite number; None for others, such as a zero division."""
    try:
        number = float(value)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return number if isfinite(number) else None


def read_rating(value: Any) -> int | None:
    """Read a number of stars, 0 to 5; None for others."""
    number = read_number(value)
    return int(number) if number is not None and 0 <= number <= 5 else None


def read_position(latitude: float | None, longitude: float | None) -> dict[str, Any]:
    """Return a position on the earth; empty for none, or for 0, 0."""
    if latitude is None or longitude is None or not (latitude or longitude):
        return {}
    if abs(latitude) > 90 or abs(longitude) > 180:
        return {}
    return {"latitude": round(latitude, 6), "longitude": round(longitude, 6)}
