"""Sections and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean


def section(
    title: str, says: str, head: Sequence[str], rows: Iterable[str], level: int = 3
) -> list[str]:
    """Write a heading, its explanation and a table; nothing without rows."""
    body = list(rows)
    if not body:
        return []
    ruler = "|" + "---|" * len(head)
    return [*heading(title, level, says), line(head), ruler, *body, ""]


def heading(title: str, level: int, *texts: str) -> list[str]:
    """Write a heading and its paragraphs, without empty ones."""
    return [f"{'#' * level} {title}", "", *(part for text in texts if text for part in (text, ""))]


def line(cells: Iterable[object]) -> str:
    """A row of a Markdown table.

    >>> line(["tessera", 3])
    '| tessera | 3 |'
    """
    return f"| {' | '.join(map(str, cells))} |"


def slashed(values: Iterable[float]) -> str:
    """Numbers with one decimal, between slashes.

    >>> slashed([36.84, 68.5, 79.1])
    '36.8 / 68.5 / 79.1'
    """
    return " / ".join(f"{value:.1f}" for value in values)


def spread(values: Iterable[float]) -> str:
    """The range of a few numbers.

    >>> spread([337.5, 339.0, 336.3])
    '336.3–339.0'
    """
    numbers = list(values)
    return f"{min(numbers):.1f}–{max(numbers):.1f}"


def over_seeds(values: Sequence[float | None]) -> str:
    """Format the mean and range over seeds; a dash without.

    >>> over_seeds([36.84]), over_seeds([337.5, 339.0, 336.3]), over_seeds([None])
    ('36.8', '337.6 (336.3–339.0)', '–')
    """
    numbers = [value for value in values if value is not None]
    if not numbers or len(numbers) < len(values):
        return "–"
    return one_decimal(mean(numbers)) + (f" ({spread(numbers)})" if len(numbers) > 1 else "")


def slashed_over_seeds(rows: Sequence[Sequence[float]]) -> str:
    """Format means over seeds between slashes, and the range of the last.

    >>> slashed_over_seeds([[60, 40, 17.1], [61, 41, 17.5]])
    '60.5 / 40.5 / 17.3 (17.1–17.5)'
    """
    *columns, last = zip(*rows, strict=True)
    return " / ".join([*(one_decimal(mean(column)) for column in columns), over_seeds(last)])


def coefficient(value: float | None) -> str:
    """Format a correlation with two decimals; a dash without one.

    >>> coefficient(0.876), coefficient(None)
    ('0.88', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def one_decimal(value: float | None) -> str:
    """Format a number with one decimal; a dash without one.

    >>> one_decimal(19.61), one_decimal(None)
    ('19.6', '–')
    """
    return "–" if value is None else f"{value:.1f}"
