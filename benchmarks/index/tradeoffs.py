"""Recall against time: engines with little and with much effort, in turns.

    python -m benchmarks.index.tradeoffs --sizes 20000 100000

An engine's effort is its number of candidates. Every query goes to every engine with every effort,
beginning with another one each time, so that a busy machine slows all alike. Milliseconds are by
the clock and of the process's processors. Stores are those of `benchmarks.index.speed`, kept in
--work; all queries' times and recalls are lines of --out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, cast

from benchmarks import machine
from benchmarks.engines.engine import EffortEngine, Unable
from benchmarks.index import questions, truth
from benchmarks.index.bags import Real
from benchmarks.index.curves import draw
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.race import OURS, TimeLimits, open_engines
from benchmarks.index.truth import TOP, TrueAnswers
from models.text.queries import Query
from training.markdown import line
from training.report import measurements

EFFORTS = {
    "tessera": (0.125, 0.25, 0.5, 0.75, 1.0, 1.5),  # of the candidates that a search takes
    "qdrant-two-stages": (50, 100, 200, 400, 800, 1_600),  # candidates
}
KINDS = ("12 words", "2 words")
RECALLS = (0.98, 0.99, 0.995, 0.999)
NAMES = {"tessera": OURS, "qdrant-two-stages": "qdrant-edge"}
LEAST_MISSED = 1e-3  # the axis is logarithmic
PICTURE = "../images/performance-recall.svg"
WARM = 5  # queries that are not counted

Row = dict[str, Any]


def race(
    engines: Mapping[str, EffortEngine],
    queries: Sequence[Query],
    best: TrueAnswers,
    efforts: Mapping[str, Sequence[float]] = EFFORTS,
) -> list[Row]:
    """Ask every engine every query with every effort."""
    pairs = [(name, effort) for name in engines for effort in efforts[name]]
    rows: dict[tuple[str, float], Row] = {
        pair: {"engine": pair[0], "effort": pair[1], "clock": [], "processor": [], "recall": []}
        for pair in pairs
    }
    for turn in range(-WARM, len(queries)):
        number = max(turn, 0)
        for name, effort in pairs[turn % len(pairs) :] + pairs[: turn % len(pairs)]:
            engines[name].try_hard(effort)
            clock, processor = time.perf_counter(), time.process_time()
            ranked = engines[name].search(queries[number], TOP)
            processor, clock = time.process_time() - processor, time.perf_counter() - clock
            if turn >= 0:
                row = rows[name, effort]
                row["clock"].append(round(1000 * clock, 3))
                row["processor"].append(round(1000 * processor, 3))
                row["recall"].append(round(best.recall(number, ranked), 2))
    return [*rows.values()]


def quickest(rows: Sequence[Row], engine: str, recall: float) -> Row | None:
    """The row of an engine's least effort with a recall."""
    enough = [row for row in rows if row["engine"] == engine and mean(row["recall"]) >= recall]
    return min(enough, key=lambda row: float(row["effort"]), default=None)


def compare(rows: Sequence[Row], recall: float) -> list[str]:
    """Cells of a table: both engines at a recall, and their ratios."""
    ours, theirs = (quickest(rows, name, recall) for name in ("tessera", "qdrant-two-stages"))
    cells = [f"≥ {recall:g}"]
    for row in (ours, theirs):
        if row is None:
            cells += ["not reached", ""]
            continue
        cells += [f"{row['effort']:,g}: {mean(row['recall']):.4f}", f"{median(row['clock']):.2f}"]
    return [*cells, ratio(ours, theirs, "clock"), ratio(ours, theirs, "processor")]


def ratio(ours: Row | None, theirs: Row | None, measure: str) -> str:
    """The median over queries of another's time to ours."""
    if ours is None or theirs is None:
        return "–"
    pairs = zip(ours[measure], theirs[measure], strict=True)
    return f"{median(other / ours for ours, other in pairs if ours > 0):.2f}"


HEAD = ("bags", "recall@10", f"{OURS}, share of its candidates: recall", "ms",
        "qdrant-edge, candidates: recall", "ms", "ratio", "ratio of processor time")  # fmt: skip
SAYS = (
    "Both engines with the least effort that reaches a recall, by `python -m "
    "benchmarks.index.tradeoffs`: qdrant-edge with one vector, then exact, and another number of "
    "candidates; Tessera with a share of those that it takes by default, which is 1. Ratios are "
    "medians over {queries} queries that both answered in turns; processor time counts all threads "
    "of the process, and depends less on the load of the machine, which was {load:.0f} on {cores} "
    "cores of {processor}."
)


def tabulate(measured: Mapping[str, Any], kind: str) -> list[str]:
    """Rows of the page for one kind of query."""
    return [
        line([f"{measured['bags']:,}", *compare(measured["kinds"][kind], recall)])
        for recall in RECALLS
    ]


def picture(raced: Sequence[Mapping[str, Any]]) -> str:
    """Median milliseconds by the recall missed, as an SVG."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for kind in KINDS:
        curves = panels.setdefault(f"text → image, {kind}", {})
        for measured in raced:
            for row in measured["kinds"][kind]:
                name = f"{NAMES[row['engine']]}, {measured['bags']:,}"
                missed = max(1 - mean(row["recall"]), LEAST_MISSED)
                curves.setdefault(name, []).append((missed, median(row["clock"])))
    across = f"share of the true ten missed; {LEAST_MISSED:g} stands for none, too"
    return draw(panels, across, "milliseconds, median")


def measure(source: GrownCollection, asked: argparse.Namespace) -> dict[str, Any]:
    """Race the engines over one collection."""
    measured: dict[str, Any] = {
        "measures": "tradeoffs",
        "bags": source.count,
        "source": source.key,
        "queries": asked.queries,
        "machine": machine.describe(asked.threads),
        "kinds": {},
    }
    limits = TimeLimits(asked.build_seconds)
    with open_engines([*EFFORTS], source, asked.work, asked.threads, limits) as (engines, _, why):
        if why:
            raise Unable(f"every engine is needed: {why}")
        for kind in KINDS:
            queries = questions.read(source.real, kind, asked.queries)
            best = truth.find(source, queries, asked.work)
            measured["kinds"][kind] = race(cast("dict[str, EffortEngine]", engines), queries, best)
            print("\n".join([kind, line(HEAD), *tabulate(measured, kind)]), flush=True)
    return measured


def main() -> None:
    """Measure, store and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_places(parser)
    parser.add_argument("--out", type=Path, default=measurements.FILE)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build-seconds", type=float, default=3600)
    asked = parser.parse_args()
    machine.use(asked.threads)
    for size in sorted(asked.sizes):
        measured = measure(GrownCollection(Real(asked.real), "images", size), asked)
        measurements.add(asked.out, {f"index-tradeoffs-{size}": measured})


if __name__ == "__main__":
    main()
