"""Pictures of the results page: claims, recalls, terms of losses, reliability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from training.report import trainings
from training.report.claims import (
    NOT_JUDGED,
    RECALL_SUM,
    SOLVED,
    Claim,
    ClaimResult,
    Difference,
    Result,
    check_claim,
)
from training.report.drawing import (
    COLOURS,
    ROW,
    Bar,
    Curve,
    draw_bars,
    draw_curves,
    is_available,
    new_figure,
    save,
)
from training.report.measurements import DATA, SHIPPED, Measurement
from training.report.papers import CLAIMS, OURS
from training.report.systems import SYSTEMS

VERDICT_COLOURS = {"holds": COLOURS[2], "does not hold": COLOURS[1], NOT_JUDGED: "#bbbbbb"}
UNCLEAR = COLOURS[0]
LEGEND = "green: holds; orange: does not hold; blue: not clear, or one seed; grey: not judged"
EXAMPLES = (  # of benchmarks/models/example_pictures.py
    "examples.webp",
    "What the shipped matcher finds among the sample photos, with the best region of each, and "
    "what the captioner of regions says of four; mistakes are left in. The photos' authors are in "
    "app/demos/photos/NOTICE.md.",
)


def draw_for(stored: Sequence[Measurement], page: Path) -> list[str]:
    """Draw a page's pictures into its folder, if matplotlib is installed."""
    return write_pictures(stored, page.with_suffix("")) if is_available() else []


def write_pictures(stored: Sequence[Measurement], folder: Path) -> list[str]:
    """Write pictures of measurements; return lines of Markdown with them.

    LookupError without matplotlib.
    """
    runs = trainings.group_results(stored)
    shown = [
        show(folder, name, text)
        for name, text, drawn in (
            ("claims.svg", f"Claims on {DATA}, {LEGEND}.",
             draw_claims(runs.get(DATA, {}), folder / "claims.svg")),
            ("recalls.svg", "Recall at 1 of every system, with Student's 95 % interval over seeds.",
             draw_recalls(runs.get(DATA, {}), folder / "recalls.svg")),
            ("terms.svg", "The terms of DeFrag's loss by epoch, before their weights.",
             draw_terms(runs, folder / "terms.svg")),
            ("reliability.svg", "What probabilities promise, and what is so; on the line a "
             "probability keeps its promise.", draw_reliability(stored, folder)),
            (*EXAMPLES, (folder / EXAMPLES[0]).is_file()),
        )
        if drawn
    ]  # fmt: skip
    return ["## Pictures", "", *(line for lines in shown for line in lines)] if shown else []


def show(folder: Path, name: str, text: str) -> list[str]:
    """Show a picture in Markdown, with its text above."""
    return [text, "", f"![{text}]({folder.name}/{name})", ""]


def draw_claims(runs: trainings.Runs, file: Path) -> bool:
    """Draw the papers' claims with their intervals; return whether there are any."""
    judged = [
        (claim, result)
        for claim in CLAIMS
        if claim.paper != OURS and (result := check_claim(claim, runs))
    ]
    panels = [
        [pair for pair in judged if (pair[0].measure == RECALL_SUM) == recalls]
        for recalls in (True, False)
    ]
    if not judged:
        return False
    rows = [bar_claim(claim, result) for panel in panels for claim, result in panel]
    figure, axes = new_figure(1.0 + ROW * len(rows))
    draw_bars(axes[0], rows, "gain of the first preset over the second", zero=True)
    axes[0].set_xscale("symlog", linthresh=10)
    axes[0].set_xlabel("sum of six recalls, or places of the mean rank (ranks)")
    save(figure, file)
    return True


def bar_claim(claim: Claim, result: ClaimResult) -> Bar:
    """Draw a claim's comparison, coloured by its verdict."""
    recalls = claim.measure == RECALL_SUM
    gain = result.recall_sum if recalls else result.ranks
    label = claim.says if recalls else f"{claim.says} (ranks)"
    return Bar(label, gain.mean, gain.half, VERDICT_COLOURS.get(result.verdict, UNCLEAR))


def draw_recalls(runs: trainings.Runs, file: Path) -> bool:
    """Draw each system's recall at 1; return whether any was drawn."""
    systems = [system for system in SYSTEMS if system.preset in runs]
    if not systems:
        return False
    figure, axes = new_figure(1.0 + ROW * len(systems), panels=2)
    for panel, way, title in zip(
        axes, ("search", "annotation"), ("text → image", "image → text"), strict=True
    ):
        bars = [bar_recall(system.preset, way, runs[system.preset]) for system in systems]
        draw_bars(panel, bars, f"R@1, {title}")
        panel.set_xlabel("percent")
    axes[1].set_yticklabels([])
    save(figure, file)
    return True


def bar_recall(preset: str, way: str, results: Mapping[int, Result]) -> Bar:
    """Compute recall at 1 over seeds, with its interval."""
    difference = Difference.of([result[way]["recall_1"] for result in results.values()])
    count = "solved" if SOLVED in results else len(results)
    return Bar(f"{preset} ({count})", difference.mean, difference.half)


def draw_terms(by_data: Mapping[str, trainings.Runs], file: Path) -> bool:
    """Draw the terms of losses by epoch; return whether any is stored."""
    curves: dict[str, list[Curve]] = {"fragments": [], "ranking": []}
    for data, runs in by_data.items():
        for preset, results in runs.items():
            for term, values in average_curves(list(results.values())):
                if term in curves:
                    learned = data.partition(trainings.PART)[2]
                    label = f"{preset}, {learned}" if learned else preset
                    curves[term].append(Curve(label, range(1, len(values) + 1), values))
    if not curves["fragments"]:
        return False
    figure, axes = new_figure(3.4, panels=2)
    draw_curves(axes[0], curves["fragments"], "fragment objective", "epoch")
    axes[0].axhline(2.0, color="#888888", linewidth=1, linestyle=":")  # its value for zero scores
    draw_curves(axes[1], curves["ranking"], "global objective", "epoch")
    axes[1].set_yscale("log")
    save(figure, file)
    return True


def average_curves(results: Sequence[Result]) -> Iterator[tuple[str, list[float]]]:
    """Average each stored term by epoch, over the runs with fragments."""
    stored = [result["curve"] for result in results if trainings.has_terms(result)]
    for term in dict.fromkeys(name for curve in stored for name in curve[0]["terms"]):
        by_epoch = zip(*([epoch["terms"][term] for epoch in curve] for curve in stored),
                       strict=False)  # fmt: skip
        yield term, [mean(values) for values in by_epoch]


def draw_reliability(stored: Sequence[Measurement], folder: Path) -> bool:
    """Draw reliability diagrams; return whether any was drawn."""
    panels = list_curves(stored)
    if not any(panels):
        return False
    figure, axes = new_figure(4.6, panels=2)
    for panel, curves, title in zip(axes, panels, ("a photo answers", "a caption is right"),
                                    strict=True):  # fmt: skip
        draw_curves(panel, curves[: len(COLOURS)], title, "probability")
        panel.plot((0, 1), (0, 1), color="#888888", linewidth=1, linestyle=":")
        panel.set_ylabel("share that is so")
    save(figure, folder / "reliability.svg")
    return True


def list_curves(stored: Sequence[Measurement]) -> list[list[Curve]]:
    """List the reliability curves of photos, and those of captions."""
    kinds: Mapping[str, Callable[[Measurement], bool]] = {
        "reliability": lambda row: "weak_below" in row,
        "captions": lambda row: "unsure_below" in row,
    }
    shipped = {row["checkpoint"] for row in stored if row.get("name") == SHIPPED}
    return [
        [
            curve_of(name, bins)
            for row in stored
            if fits(row) and (key != "reliability" or row["checkpoint"] in shipped)
            for name, bins in row[key].items()
        ]
        for key, fits in kinds.items()
    ]


def curve_of(name: str, measured: Measurement) -> Curve:
    """Make a curve of a reliability's bins."""
    bins = measured["bins"]
    label = f"{name}, error {measured['error']:.3f}"
    return Curve(label, [part["probability"] for part in bins], [part["share"] for part in bins])
