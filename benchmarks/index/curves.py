"""Curves on logarithmic axes as an SVG, drawn without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

INKS = ("#1f6f54", "#7bb89f", "#3a5fa8", "#8aa4d6", "#8a5a00", "#d0a040", "#b03a48", "#d98a94",
        "#6b4a9a", "#5a5a5a")  # fmt: skip
WIDTH, HEIGHT = 360, 260  # of one panel's frame
LEFT, TOP, GAP, LINE = 64, 34, 90, 18
GREY, PALE = "#4a4a4a", "#e2e2e2"

Points = Sequence[tuple[float, float]]


def draw(panels: Mapping[str, Mapping[str, Points]], across: str, up: str) -> str:
    """Panels next to each other, each with named curves in common colours."""
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    inks = {name: INKS[row % len(INKS)] for row, name in enumerate(names)}
    points = [point for curves in panels.values() for curve in curves.values() for point in curve]
    frame = Frame(points)
    shapes: list[str] = []
    for number, (title, curves) in enumerate(panels.items()):
        left = LEFT + number * (WIDTH + GAP)
        shapes += panel(frame, left, title, curves, inks)
        shapes.append(text(left + WIDTH / 2, TOP + HEIGHT + 2 * LINE + 4, across, "middle"))
    shapes.append(text(8, TOP - 16, up))
    below = TOP + HEIGHT + 3 * LINE
    shapes += legend(inks, below)
    width = LEFT + len(panels) * (WIDTH + GAP)
    height = below + LINE * (math.ceil(len(inks) / 2) + 2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(shapes)}</svg>\n'
    )


class Frame:
    """Places of values in a panel of logarithmic axes.

    Ticks are powers of ten.
    """

    def __init__(self, points: Points) -> None:
        self.x = powers([x for x, _ in points])
        self.y = powers([y for _, y in points])

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixels from the panel's left, and from the picture's top."""
        return WIDTH * share(x, self.x), TOP + HEIGHT * (1 - share(y, self.y))


def powers(values: Sequence[float]) -> range:
    """The exponents of ten around some values, at least two."""
    logs = [math.log10(value) for value in values]
    low, high = math.floor(min(logs, default=0)), math.ceil(max(logs, default=1))
    return range(low, max(high, low + 1) + 1)


def share(value: float, exponents: range) -> float:
    """The place of a value on an axis, from 0 to 1."""
    return (math.log10(value) - exponents[0]) / (exponents[-1] - exponents[0])


def panel(
    frame: Frame, left: float, title: str, curves: Mapping[str, Points], inks: Mapping[str, str]
) -> list[str]:
    """A frame with its grid, its title and its curves."""
    shapes = [text(left + WIDTH / 2, TOP - 16, title, "middle")]
    for exponent in frame.x:
        x = left + WIDTH * share(10.0**exponent, frame.x)
        shapes.append(line([(x, TOP), (x, TOP + HEIGHT)], PALE, 1))
        shapes.append(text(x, TOP + HEIGHT + LINE, label(exponent), "middle"))
    for exponent in frame.y:
        y = TOP + HEIGHT * (1 - share(10.0**exponent, frame.y))
        shapes.append(line([(left, y), (left + WIDTH, y)], PALE, 1))
        shapes.append(text(left - 6, y + 4, label(exponent), "end"))
    for name, curve in curves.items():
        places = [frame.place(x, y) for x, y in sorted(curve)]
        moved = [(left + x, y) for x, y in places]
        shapes.append(line(moved, inks[name], 2))
        shapes += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{inks[name]}"/>' for x, y in moved
        ]
    return shapes


def label(exponent: int) -> str:
    """A power of ten in digits."""
    return f"{10.0**exponent:,.{max(0, -exponent)}f}"


def legend(inks: Mapping[str, str], top: float) -> list[str]:
    """The names in two columns."""
    shapes = []
    for number, (name, ink) in enumerate(inks.items()):
        x, y = LEFT + (number % 2) * (WIDTH + GAP), top + LINE * (number // 2 + 1)
        shapes.append(line([(x, y - 4), (x + 24, y - 4)], ink, 3))
        shapes.append(text(x + 32, y, name))
    return shapes


def line(points: Points, ink: str, width: int) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="{width}"/>'


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Words at a place."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{GREY}">{escape(words)}</text>'
    )
