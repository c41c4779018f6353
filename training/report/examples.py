"""Pictures of answers: photos found by texts, captions under crops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from torch import Tensor

from models.types import Box
from training.report.drawing import COLOURS, new_figure, save

LETTERS = 26  # of a line below a photo
RIGHT, WRONG = COLOURS[2], "#bbbbbb"


@dataclass(frozen=True, slots=True)
class Shown:
    """A photo (3, H, W) with a text below, and perhaps a box.

    right: whether it is the right answer, if known.
    """

    pixels: Tensor
    text: str
    box: Box | None = None
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of photos with its title, such as a query."""

    title: str
    photos: Sequence[Shown]


def draw(rows: Sequence[Row], file: Path, *, tall: float = 2.2) -> Path:
    """Draw rows of photos; right ones have a green frame."""
    columns = max(len(row.photos) for row in rows)
    figure, _ = new_figure(tall * len(rows))
    figure.clear()
    parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
    for part, row in zip(parts, rows, strict=True):
        part.suptitle(row.title, x=0.01, ha="left", fontsize=10)
        panels = part.subplots(1, columns, squeeze=False)[0]
        for panel in panels:
            panel.set_axis_off()
        for panel, shown in zip(panels, row.photos, strict=False):
            draw_photo(panel, shown)
    return save(figure, file)


def draw_photo(panel: Any, shown: Shown) -> None:
    """Draw a photo with its box and text."""
    from matplotlib.patches import Rectangle

    panel.set_axis_on()
    panel.set_xticks([])
    panel.set_yticks([])
    panel.imshow(shown.pixels.permute(1, 2, 0).numpy())
    panel.set_xlabel(fill(shown.text, LETTERS), fontsize=8)
    for spine in panel.spines.values():
        spine.set_visible(shown.right is not None)
        spine.set_color(RIGHT if shown.right else WRONG)
        spine.set_linewidth(3)
    if box := shown.box:
        height, width = shown.pixels.shape[1:]
        corner = box.left * width, box.top * height
        sides = (box.right - box.left) * width, (box.bottom - box.top) * height
        panel.add_patch(Rectangle(corner, *sides, fill=False, edgecolor=COLOURS[1], linewidth=2))
