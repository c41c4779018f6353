"""Measurements as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from training.evaluation.label_searches import LabelSearches, PresenceShares, WeakLine
from training.evaluation.localisation import Localisation
from training.evaluation.measure import MatcherMeasures
from training.evaluation.occlusion import Occlusion
from training.evaluation.open_world import OpenWorld
from training.evaluation.outstanding_parts import Magnitude, RankedRegion
from training.evaluation.queries import QuerySearch
from training.evaluation.reliability import Reliability
from training.markdown import coefficient

EXTREMES = 20  # words at either end
KINDS = 10  # of the best and of the worst
MISSES = 40  # queries whose photo is not the first


def format_metrics(measured: MatcherMeasures) -> Group:
    """Format a matcher's ranks and recalls, and the faithfulness of its links."""
    table = Table()
    for heading in ("", "R@1", "R@5", "R@10", "median", "mean rank"):
        table.add_column(heading, justify="left" if not heading else "right")
    rows = (
        ("image → text", measured.retrieval.annotation),
        ("text → image", measured.retrieval.search),
        ("image → text (*)", measured.starred.annotation),
        ("text → image (*)", measured.starred.search),
        ("text → text", measured.similarity),
    )
    for name, direction in rows:
        if direction:
            recalls = (direction.recall_1, direction.recall_5, direction.recall_10)
            ranks = (f"{direction.median_rank:g}", f"{direction.mean_rank:.1f}")
            table.add_row(name, *(f"{recall:.1f}" for recall in recalls), *ranks)
    return Group(table, *format_notes(measured))


def format_notes(measured: MatcherMeasures) -> list[str]:
    """Format the number of photos, and links against boxes and without regions."""
    lines = [
        f"{measured.images:,} photos, {measured.sentences:,} sentences; "
        "(*) with the first sentence of each photo alone"
    ]
    if measured.grounding:
        lines.append(format_localisation(measured.grounding))
    if links := measured.faithfulness:
        lines.append(
            f"without its most linked region a pair loses {links.lost:.3f} of its score, "
            f"{links.share:.0f} % of those links; at most {links.gap:.0e} from their prediction"
        )
    if measured.occlusion:
        lines.append(format_occlusion(measured.occlusion))
    return [*lines, f"{measured.seconds:.0f} s"]


def format_occlusion(measured: Occlusion) -> str:
    """Format regions' claims and their words' losses, in three lines."""
    return (
        f"{measured.regions:,} regions, one a photo: links of {measured.linked:.3f}, of which the "
        f"region adds {measured.added:.3f}\n"
        f"without the region's vector they lose {measured.removed:.3f}, "
        f"correlation with what it adds {coefficient(measured.removed_correlation)}\n"
        f"with its pixels grey {measured.greyed:.3f}, correlation "
        f"{coefficient(measured.greyed_correlation)}; with a box elsewhere grey "
        f"{measured.elsewhere:.3f}"
    )


def format_searches(measured: OpenWorld) -> Group:
    """Searches by categories and by natural queries, in percent."""
    table = Table("field", "photos", "categories", "mAP", "P@1", "P@5", "by chance")
    for search in measured.categories:
        percents = (search.mean_precision, search.precision_1, search.precision_5, search.chance)
        counts = (f"{search.photos:,}", f"{search.categories} (and {search.rare} rare)")
        table.add_row(search.field, *counts, *(f"{percent:.1f}" for percent in percents))
    parts = [table] if measured.categories else []
    return Group(*parts, *(format_misses(measured.queries) if measured.queries else ()))


def format_misses(measured: QuerySearch) -> list[RenderableType]:
    """Format the share of right queries, and the wrong ones."""
    wrong = [answer for answer in measured.answers if answer.rank > 1]
    table = Table("query", "photo", "rank", "came first")
    for answer in wrong[:MISSES]:
        table.add_row(escape(answer.text), answer.id, str(answer.rank), answer.first)
    right = (
        f"{len(measured.answers):,} queries over {measured.photos:,} photos: "
        f"right at 1 {measured.right_1:.1f} %, at 5 {measured.right_5:.1f} %"
    )
    return [right, table] if wrong else [right]


def format_localisation(measured: Localisation) -> str:
    """Localisation of phrases, in two lines."""
    return (
        f"{measured.phrases:,} phrases: R@1 / 5 / 10 at IoU ≥ 0.5 "
        f"{measured.recall_1:.1f} / {measured.recall_5:.1f} / {measured.recall_10:.1f} "
        f"(at most {measured.bound:.1f})\n"
        f"{measured.pointed:.1f} % pointed at, mAP {measured.mean_precision:.1f}"
    )


def format_extremes(words: Sequence[Magnitude]) -> Table:
    """The words with the largest and the smallest magnitudes, side by side."""
    table = Table(caption=f"{len(words):,} words; mean |s| and occurrences")
    for heading in ("largest", "|s|", "times", "smallest", "|s|", "times"):
        table.add_column(heading, justify="left" if heading.endswith("est") else "right")
    for pair in zip(words[:EXTREMES], words[::-1][:EXTREMES], strict=True):
        table.add_row(*(cell for word in pair for cell in format_cells(word)))
    return table


def format_regions(chosen: Sequence[RankedRegion], photos: Sequence[str], value: str) -> Table:
    """List regions, best first, with their photos' ids and values."""
    table = Table("", "photo", "left, top, right, bottom", value)
    for place, (region, photo) in enumerate(zip(chosen, photos, strict=True), start=1):
        box = ", ".join(f"{edge:.2f}" for edge in region.box)
        table.add_row(str(place), photo, box, f"{region.value:.3f}")
    return table


def format_reliabilities(curves: Mapping[str, Reliability]) -> Table:
    """List the calibration error and number of each kind of pair."""
    table = Table("pairs of", "expected calibration error", "pairs", "true")
    for name, curve in curves.items():
        table.add_row(name, f"{curve.error:.3f}", f"{curve.pairs:,}", f"{100 * curve.share:.1f} %")
    return table


def format_label_searches(measured: LabelSearches) -> Group:
    """Searches by label, in percent."""
    table = Table("searches", "queries", "P@5", "mAP")
    rows = {
        "a": measured.single,
        "a and b": measured.pairs,
        "a, no b": measured.negation,
        "a, no person": measured.of_persons,
    }
    for name, ranking in rows.items():
        shares = (ranking.precision_5, ranking.mean_precision)
        table.add_row(name, str(ranking.queries), *(f"{100 * share:.1f}" for share in shares))
    lines = [f"{measured.photos:,} photos, {measured.labels} labels"]
    if measured.presence:
        lines += format_presence(measured.presence, measured.behind)
    if measured.weak:
        lines.append(format_weak_line(measured.weak))
    return Group(table, *lines, format_kinds(measured.single.by_text))


def format_kinds(precisions: Mapping[str, float]) -> Table:
    """List the kinds of things found best, and worst."""
    table = Table(caption="average precision of kinds of things, in percent")
    for heading in ("best", "AP", "worst", "AP"):
        table.add_column(heading, justify="right" if heading == "AP" else "left")
    ordered = sorted(precisions.items(), key=lambda kind: -kind[1])
    for pair in zip(ordered[:KINDS], ordered[::-1][:KINDS], strict=True):
        table.add_row(*(cell for name, share in pair for cell in (name, f"{100 * share:.1f}")))
    return table


def format_presence(shares: PresenceShares, behind: float) -> list[str]:
    """The shares of presence, in percent."""
    present, false, often, worst = (
        f"{100 * share:.1f} %"
        for share in (shares.there, shares.false, shares.false_by_frequency, shares.worst)
    )
    return [
        f"said to be there: {present} of what is, {false} of what is not "
        f"({often} with things as often as they are there, at most {worst}: {shares.worst_of})",
        f"photos said to show b come last in {100 * behind:.0f} % of negations",
    ]


def format_weak_line(weak: WeakLine) -> str:
    """The hits above the line of weak ones, in percent."""
    right, precision, recall = (
        f"{100 * share:.1f} %" for share in (weak.right, weak.precision, weak.recall)
    )
    return (
        f"above the line of weak hits: {weak.hits:,}, right {right}, a query {precision} "
        f"and {recall} of what is right; {weak.empty} queries without"
    )


def format_cells(word: Magnitude) -> tuple[str, str, str]:
    """A word's part of a row."""
    return word.word, f"{word.mean:.3f}", f"{word.count:,}"
