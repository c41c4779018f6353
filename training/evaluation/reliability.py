"""Reliability curves of probabilities, and the expected calibration error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

BINS = 15
SIDE, MARGIN, LINE = 260, 46, 18  # of the picture, in pixels
INKS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


@dataclass(frozen=True, slots=True)
class Bin:
    """The pairs of one bin: mean probability, and share of truth."""

    probability: float
    share: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """The expected calibration error Σ_b n_b / N |share_b − probability_b|, and its bins.

    (Naeini et al. 2015; 15 bins of equal width as Guo et al. 2017.) Empty bins are left out.
    """

    error: float
    bins: tuple[Bin, ...]
    pairs: int
    share: float  # of all pairs that are true


def reliability(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> Reliability:
    """Compute the reliability of probabilities (N,) by their truth (N,).

    ValueError unless all are numbers.

    >>> round(reliability(np.array([0.2, 0.2, 0.9]), np.array([False, True, True])).error, 3)
    0.233
    """
    if not np.isfinite(probabilities).all():
        raise ValueError("some probabilities are no numbers; the matcher's scores are not finite")
    places = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    bins = tuple(
        Bin(float(probabilities[in_bin].mean()), float(truth[in_bin].mean()), int(in_bin.sum()))
        for in_bin in (places == place for place in range(BINS))
        if in_bin.any()
    )
    error = sum(bin_.pairs * abs(bin_.share - bin_.probability) for bin_ in bins) / len(truth)
    return Reliability(error, bins, len(truth), float(truth.mean()))


def best_threshold(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Find the threshold with the best F2, the lowest of equals.

    F2 = 5 precision · recall / (4 precision + recall): a true pair that is called false weighs more
    than a false one that is called true (van Rijsbergen 1979).
    """
    order = np.argsort(-probabilities, kind="stable")
    right = np.cumsum(truth[order])  # (N,) true pairs among the first
    f2 = 5 * right / (np.arange(1, len(order) + 1) + 4 * truth.sum())
    return float(probabilities[order[np.flatnonzero(f2 == f2.max())[-1]]])


def draw(curves: Mapping[str, Reliability]) -> str:
    """Draw reliability curves as an SVG: mean probability against share of truth."""
    shapes: list[str] = []
    for tick in (0.0, 0.5, 1.0):
        x, y = locate(tick, tick)
        shapes.append(draw_text(x, SIDE + MARGIN + LINE, f"{tick:g}", "middle"))
        shapes.append(draw_text(MARGIN - 6, y + 4, f"{tick:g}", "end"))
    shapes.append(draw_line([locate(0, 0), locate(1, 1)], "#9a9a9a", dashed=True))
    for row, (name, curve) in enumerate(curves.items()):
        ink = INKS[row % len(INKS)]
        points = [locate(bin_.probability, bin_.share) for bin_ in curve.bins]
        shapes.append(draw_line(points, ink))
        shapes += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{ink}"/>' for x, y in points]
        label = f"{name}: error {curve.error:.3f}, {curve.pairs:,} pairs"
        shapes.append(draw_text(MARGIN, SIDE + MARGIN + LINE * (row + 3), label, ink=ink))
    width, height = 2 * MARGIN + SIDE + 100, MARGIN + SIDE + LINE * (len(curves) + 4)
    shapes.append(draw_text(MARGIN, MARGIN - 14, "share that is true, by probability"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" '
        f'stroke="#4a4a4a"/>{"".join(shapes)}</svg>\n'
    )


def locate(probability: float, share: float) -> tuple[float, float]:
    """Return a curve's point in the picture."""
    return MARGIN + SIDE * probability, MARGIN + SIDE * (1 - share)


def draw_line(points: Sequence[tuple[float, float]], ink: str, *, dashed: bool = False) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = ' stroke-dasharray="4"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="2"{dashes}/>'


def draw_text(x: float, y: float, words: str, anchor: str = "start", ink: str = "#4a4a4a") -> str:
    """Words at a place."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}">{escape(words)}</text>'
    )
