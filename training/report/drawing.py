"""Pictures of measurements, by matplotlib from the extra `train`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import extras
from models.whole_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INSTALL = extras.install("train")
STYLE: Any = {  # its types name each of 300 keys
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tessera",  # the same picture is the same file
}
WIDTH = 8.0  # inches
ROW = 0.24  # inches of a row
COLOURS = ("#0b5fa5", "#c2571a", "#2e7d4f", "#7b4fa3", "#8a6d00", "#555555")


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its colour and half of its interval."""

    label: str
    value: float
    half: float | None = None
    colour: str = COLOURS[0]


@dataclass(frozen=True, slots=True)
class Curve:
    """Values over places, such as epochs."""

    label: str
    places: Sequence[float]
    values: Sequence[float]


def is_available() -> bool:
    """Return whether matplotlib is installed."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def new_figure(height: float, panels: int = 1) -> tuple[Figure, list[Any]]:
    """Make a figure with panels side by side; LookupError without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise LookupError(f"pictures need matplotlib: {INSTALL}") from missing
    mpl.rcParams.update(STYLE)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def save(figure: Figure, file: Path) -> Path:
    """Write a figure as its suffix says: .svg, .png or .webp."""
    import matplotlib as mpl

    kind = file.suffix.removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else None
    with mpl.rc_context(STYLE), write_whole(file) as partial:
        figure.savefig(partial, format=kind, dpi=120, metadata=metadata)
    return file


def draw_bars(axes: Any, bars: Sequence[Bar], title: str, zero: bool = False) -> None:
    """Draw values as points with intervals, the first at the top."""
    for row, bar in enumerate(bars):
        axes.errorbar(
            bar.value, row, xerr=bar.half, fmt="o", markersize=4, capsize=2, color=bar.colour
        )
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_title(title)
    axes.grid(axis="x", alpha=0.3)
    if zero:
        axes.axvline(0, color="#888888", linewidth=1)


def draw_curves(axes: Any, curves: Iterable[Curve], title: str, across: str) -> None:
    """Draw values over places, with a legend."""
    for curve, colour in zip(curves, COLOURS, strict=False):
        axes.plot(
            curve.places, curve.values, marker="o", markersize=3, label=curve.label, color=colour
        )
    axes.set_title(title)
    axes.set_xlabel(across)
    if across == "epoch":
        axes.locator_params(axis="x", integer=True)
    axes.grid(alpha=0.3)
    if axes.has_data():
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.18))
