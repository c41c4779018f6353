"""How measurements look on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from rich.console import Group
from rich.table import Table

from training.evaluation.localisation import Localisation
from training.evaluation.magnitudes import Magnitude
from training.evaluation.measure import Measured
from training.evaluation.regions import Region
from training.evaluation.reliability import Reliability

EXTREMES = 20  # words at either end


def metrics(measured: Measured) -> Group:
    """A matcher's ranks and recalls in percent, and below what its links are worth."""
    shown = Table()
    for heading in ("", "R@1", "R@5", "R@10", "median", "mean rank"):
        shown.add_column(heading, justify="left" if not heading else "right")
    rows = (
        ("image → text", measured.retrieval.annotation),
        ("text → image", measured.retrieval.search),
        ("image → text (*)", measured.starred.annotation),
        ("text → image (*)", measured.starred.search),
        ("text → text", measured.similarity),
    )
    for name, one in rows:
        if one:
            recalls = (one.recall_1, one.recall_5, one.recall_10)
            ranks = (f"{one.median_rank:.0f}", f"{one.mean_rank:.1f}")
            shown.add_row(name, *(f"{recall:.1f}" for recall in recalls), *ranks)
    return Group(shown, *notes(measured))


def notes(measured: Measured) -> list[str]:
    """What a matcher was measured on, and its links against true boxes and without a region."""
    told = [
        f"{measured.images:,} photos, {measured.sentences:,} sentences; "
        "(*) with the first sentence of each photo alone"
    ]
    if measured.grounding:
        told.append(boxes(measured.grounding))
    if links := measured.faithfulness:
        told.append(
            f"without its most linked region a pair loses {links.lost:.3f} of its score, "
            f"{links.share:.0f} % of those links; {links.gap:.0e} from what links foretell at most"
        )
    return [*told, f"{measured.seconds:.0f} s"]


def boxes(found: Localisation) -> str:
    """How well phrases are localised, in two lines."""
    return (
        f"{found.phrases:,} phrases: R@1 / 5 / 10 at IoU ≥ 0.5 "
        f"{found.recall_1:.1f} / {found.recall_5:.1f} / {found.recall_10:.1f} "
        f"(at most {found.bound:.1f})\n"
        f"{found.pointed:.1f} % pointed at, mAP {found.mean_precision:.1f}"
    )


def extremes(words: Sequence[Magnitude]) -> Table:
    """The words with the largest and the smallest magnitudes, side by side."""
    shown = Table(caption=f"{len(words):,} words; mean |s| and occurrences")
    for heading in ("largest", "|s|", "times", "smallest", "|s|", "times"):
        shown.add_column(heading, justify="left" if heading.endswith("est") else "right")
    for both in zip(words[:EXTREMES], words[::-1][:EXTREMES], strict=True):
        shown.add_row(*(cell for one in both for cell in cells(one)))
    return shown


def ranked(found: Sequence[Region], photos: Sequence[str], value: str) -> Table:
    """Regions, best first, with their photos' ids and what they are ranked by."""
    shown = Table("", "photo", "left, top, right, bottom", value)
    for place, (one, photo) in enumerate(zip(found, photos, strict=True), start=1):
        box = ", ".join(f"{edge:.2f}" for edge in astuple(one.box))
        shown.add_row(str(place), photo, box, f"{one.value:.3f}")
    return shown


def reliabilities(curves: Mapping[str, Reliability]) -> Table:
    """The expected calibration error of each kind of pair, and how many of them are true."""
    shown = Table("pairs of", "expected calibration error", "pairs", "true")
    for name, curve in curves.items():
        shown.add_row(name, f"{curve.error:.3f}", f"{curve.pairs:,}", f"{100 * curve.share:.1f} %")
    return shown


def cells(one: Magnitude) -> tuple[str, str, str]:
    """A word's part of a row."""
    return one.word, f"{one.mean:.3f}", f"{one.count:,}"
