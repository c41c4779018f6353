"""The page docs/research/performance.md and its picture, from measurements of the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.index import gpu_scan, stages, tradeoffs
from benchmarks.index.curves import draw
from benchmarks.index.fidelity import CANDIDATES
from benchmarks.training import gpu_speed
from training import markdown
from training.markdown import line
from training.report import measurements

Measurement = dict[str, Any]
section = partial(markdown.section, level=2)

NAMES = {
    "tessera": "Tessera",
    "tessera-links": "Tessera, with links",
    "tessera-exact": "Tessera, exact",
    "tessera-codes": "Tessera, exact, without bounds",
    "numpy": "numpy, exact",
    "torch": "torch, exact",
    "faiss-summaries": "FAISS flat, one vector a bag",
    "faiss-fragments": "FAISS flat, all fragments",
    "qdrant": "qdrant-edge, exact",
    "qdrant-hnsw": "qdrant-edge, HNSW",
    "qdrant-two-stages": "qdrant-edge, one vector, then exact",
    "lance": "LanceDB, flat",
}
DRAWN = {"text → image, 12 words": ("images", "12 words"), "image → text": ("sentences", "photo")}
WAYS = {"images": "text → image", "sentences": "image → text"}
INTRODUCTION = """# Performance

Written by `python -m benchmarks.index.speed report`; do not edit. {machine}

Every engine holds the same bags and answers the same held-out queries in turn, in one process.
Milliseconds are of one search for the best ten, the query's embedding not included. Recall is the
share of the true best ten by brute force. The ratio to Tessera is the median over queries.
Collections begin with real photos and sentences of Flickr8k, and go on with grown ones (see below).
Searching sentences for a photo sums over the stored side, which MaxSim of other engines does not:
they answer another question, and their recall says so.

![Milliseconds by the size of the collection]({picture})
"""
SPEED_HEAD = ("bags", "engine", "median ms", "p95", "p99", "ratio", "recall@10", "queries")
STORES_HEAD = ("bags", "engine", "to build", "bytes a bag on disk", "own memory, bytes a bag",
               "pages of files, bytes a bag")  # fmt: skip
STORES_SAY = (
    "To build means to insert everything and to finish what is indexed in the background. Memory "
    "is what a process of its own grew by while it opened the store and answered twenty queries."
)
LIVING_HEAD = ("measure", "result")
LIVING_SAY = (
    "{photos:,} photos in the collection; writers are processes of their own. Measured on {cores} "
    "cores of {processor}."
)
LIVING = {
    "ingest": {
        "items_per_second_16": ("Catalog.put_many, batches of 16", "{:,.0f} photos a second"),
        "items_per_second_256": ("Catalog.put_many, batches of 256", "{:,.0f} photos a second"),
        "bytes_per_photo_256": ("on disk, truth and derived files", "{:,.0f} bytes a photo"),
    },
    "during ingest": {
        "p50_idle": ("search, nothing else going on, p50", "{:.1f} ms"),
        "p99_idle": ("the same, p99", "{:.1f} ms"),
        "p50_busy": ("search while another process stores items, p50", "{:.1f} ms"),
        "p99_busy": ("the same, p99", "{:.1f} ms"),
        "p99_ratio": ("p99 while storing ÷ idle", "{:.2f}"),
        "slow_busy": ("the slowest twentieth of them while storing, mean", "{:.1f} ms"),
        "slow_in_queue_busy": ("of that, ready to run while others have the cores", "{:.1f} ms"),
        "slow_computing_busy": ("of that, computing", "{:.1f} ms"),
        "slow_waiting_busy": ("of that, for the GIL, the database and the disk", "{:.1f} ms"),
    },
    "elsewhere": {
        "p50": ("from a put's return to a hit in another process, p50", "{:.2f} s"),
        "p99": ("the same, p99", "{:.2f} s"),
    },
    "cold": {
        "first": ("cold start without segments: first answer", "{:.2f} s"),
        "complete": ("the same: complete answers", "{:.2f} s"),
    },
}
DATABASES_HEAD = ("work", "SQLite, ms", "PostgreSQL, ms", "ratio", "ratios of the rounds")
DATABASES_SAY = (
    "Milliseconds of the catalog's work for each item, search or wait, in turns: by "
    "`python -m benchmarks.databases`, {rounds} rounds with {rows:,} rows, PostgreSQL on the "
    "same machine with the settings it comes with. The ratios compare: the machine's load was "
    "{load:.0f} on {cores} cores of {processor}, so the milliseconds are of this table alone."
)
FIDELITY_HEAD = ("side", "bags", "best score", "tenth", "mean", "deviation",
                 "quantiles .5 / .9 / .99 / .999",
                 f"best ten among the first {' / '.join(map(str, CANDIDATES))} by summary",
                 "nearest neighbour")  # fmt: skip
FIDELITY_SAY = (
    "Collections larger than the real data go on with grown bags (`benchmarks/index/growth.py`). "
    "Here as many are grown from one half of the real ones as the other half has, and both are "
    "asked the same held-out queries. The nearest neighbour is the mean cosine of a summary to the "
    "nearest."
)


def page(stored: Sequence[Measurement], picture: str) -> str:
    """The page, from the results of `measure`, `living` and `fidelity`."""
    races = sorted(
        (race for race in stored if race["measures"] == "search"),
        key=lambda race: (race["side"], race["bags"]),
    )
    lines = [INTRODUCTION.format(machine=machine(races), picture=picture)]
    lines += [
        row for (side, kind), group in by_kind(races).items() for row in speed(side, kind, group)
    ]
    lines += list_tradeoffs(stored)
    lines += section(
        "Stores", STORES_SAY, STORES_HEAD, [row for race in races for row in stores(race)]
    )
    lines += list_skipped(races)
    for measurement in stored:
        if measurement["measures"] == "living":
            says = LIVING_SAY.format(photos=measurement["photos"], **measurement["machine"])
            lines += section("While it changes", says, LIVING_HEAD, living(measurement["numbers"]))
        if measurement["measures"] == "stages":
            says = stages.SAYS.format(**measurement, **measurement["machine"])
            rows = stages.tabulate(measurement)
            lines += section("Where a search's time goes", says, stages.HEAD, rows)
        if measurement["measures"] == "gpu-scan":
            says = gpu_scan.SAYS.format(**measurement)
            rows = [line(row) for row in gpu_scan.tabulate(measurement)]
            lines += section("On a GPU", says, gpu_scan.HEAD, rows)
        if measurement["measures"] == "gpu-speed":
            says = gpu_speed.SAYS.format(**measurement)
            rows = [line(row) for row in gpu_speed.tabulate(measurement)]
            lines += section("Photos on a GPU", says, gpu_speed.HEAD, rows)
        if measurement["measures"] == "databases":
            says = DATABASES_SAY.format(**measurement, **measurement["machine"])
            lines += section("Databases", says, DATABASES_HEAD, databases(measurement["numbers"]))
        if measurement["measures"] == "fidelity":
            lines += section(
                "Grown bags", FIDELITY_SAY, FIDELITY_HEAD, fidelity(measurement["sides"])
            )
    return "\n".join(lines).rstrip() + "\n"


def machine(races: Sequence[Measurement]) -> str:
    """The machines of the races, perhaps several."""
    if not races:
        return ""
    machines = [race["machine"] for race in races]
    kinds = {(used["processor"], used["cores"], used["threads"]) for used in machines}
    ran_on = "; ".join(
        f"{processor} with {cores} cores, with {threads} threads"
        for processor, cores, threads in sorted(kinds)
    )
    return (
        f"Measured on {ran_on}. One thread read memory at {between(machines, 'read_one', 1)} GB/s "
        f"and all at {between(machines, 'read_all', 1)}, so compare within a size. As the races "
        f"began, the load was {between(machines, 'load', 0)}."
    )


def between(machines: Sequence[Mapping[str, Any]], measure: str, digits: int) -> str:
    """The least and the most of a number of the machines."""
    numbers = sorted(used[measure] for used in machines)
    ends = dict.fromkeys(f"{number:.{digits}f}" for number in (numbers[0], numbers[-1]))
    return " to ".join(ends)


def by_kind(races: Sequence[Measurement]) -> dict[tuple[str, str], list[Measurement]]:
    """The races of each side and kind of query."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for race in races:
        for kind in race["kinds"]:
            groups.setdefault((race["side"], kind), []).append(race)
    return groups


def list_tradeoffs(stored: Sequence[Measurement]) -> list[str]:
    """The tables of engines at equal recall."""
    raced = [measured for measured in stored if measured["measures"] == "tradeoffs"]
    if not raced:
        return []
    facts = raced[0]["machine"] | {"load": max(row["machine"]["load"] for row in raced)}
    lines = section(
        f"Equal recall, {tradeoffs.KINDS[0]}",
        tradeoffs.SAYS.format(**raced[0] | facts),
        tradeoffs.HEAD,
        [row for measured in raced for row in tradeoffs.tabulate(measured, tradeoffs.KINDS[0])],
    )
    for kind in tradeoffs.KINDS[1:]:
        rows = [row for measured in raced for row in tradeoffs.tabulate(measured, kind)]
        lines += section(f"Equal recall, {kind}", "", tradeoffs.HEAD, rows)
    return [*lines, f"![Recall against time]({tradeoffs.PICTURE})", ""]


def speed(side: str, kind: str, races: Sequence[Measurement]) -> list[str]:
    """The table of one kind of query."""
    rows = [
        speed_row(race["bags"], name, numbers)
        for race in races
        for name, numbers in race["kinds"][kind].items()
    ]
    floors = ", ".join(
        f"{milliseconds(1000 * race['fragment_bytes'] / race['machine']['read_all'] / 1e9)} ms at "
        f"{race['bags']:,}"
        for race in races
    )
    says = f"To read all fragments once, in single precision, takes {floors} bags."
    return section(f"{WAYS[side]}, {kind}", says, SPEED_HEAD, rows)


def speed_row(bags: int, name: str, numbers: Mapping[str, Any]) -> str:
    """One engine at one size."""
    if "unable" in numbers:
        return line([f"{bags:,}", NAMES[name], numbers["unable"], "", "", "", "", ""])
    ratio = f"{numbers['ratio']:.2f}" if "ratio" in numbers else "–"
    times = [milliseconds(numbers[at]) for at in ("median", "p95", "p99")]
    return line(
        [f"{bags:,}", NAMES[name], *times, ratio, f"{numbers['recall']:.4f}", numbers["queries"]]
    )


def milliseconds(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def stores(race: Measurement) -> list[str]:
    """The cost of each engine's store."""
    rows = []
    for name in dict.fromkeys([*race["built"], *race["resident"]]):
        built, held = race["built"].get(name), race["resident"].get(name)
        cells = (
            [f"{built['seconds']:,.0f} s", f"{built['bytes'] / race['bags']:,.0f}"]
            if built
            else ["–"] * 2
        )
        cells += (
            [f"{held[at] / race['bags']:,.0f}" for at in ("own", "files")] if held else ["–"] * 2
        )
        rows.append(line([f"{race['bags']:,} {race['side']}", NAMES[name], *cells]))
    return rows


def list_skipped(races: Sequence[Measurement]) -> list[str]:
    """The missing engines at each size, and the reasons."""
    rows = [
        f"- {NAMES[name]}, {race['bags']:,} {race['side']}: {why}."
        for race in races
        for name, why in race["skipped"].items()
    ]
    return ["## Left out", "", *rows, ""] if rows else []


def living(numbers: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Rows on the index during changes."""
    return [
        line([says, form.format(numbers[kind][key])])
        for kind, labels in LIVING.items()
        for key, (says, form) in labels.items()
        if key in numbers.get(kind, {})
    ]


def databases(numbers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Rows on the same work in both databases."""
    return [
        line(
            [
                work,
                *(milliseconds(taken[name]) for name in ("sqlite", "postgresql")),
                f"{taken['ratio']:.2f}",
                f"{taken['ratios'][0]:.2f} to {taken['ratios'][-1]:.2f}",
            ]
        )
        for work, taken in numbers.items()
    ]


def fidelity(sides: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Rows on whether grown bags are like real ones."""
    return [
        fidelity_row(side, name, numbers)
        for side, lots in sides.items()
        for name, numbers in lots.items()
    ]


def fidelity_row(side: str, name: str, numbers: Mapping[str, Any]) -> str:
    """One lot of bags."""
    scores = [f"{numbers[what]:.2f}" for what in ("best", "tenth", "mean", "deviation")]
    quantiles = " / ".join(f"{value:.1f}" for value in numbers["quantiles"])
    candidates = " / ".join(f"{value:.3f}" for value in numbers["candidates"])
    return line([side, f"{numbers['bags']:,} {name}", *scores, quantiles, candidates,
                 f"{numbers['neighbour']:.2f}"])  # fmt: skip


def picture(stored: Sequence[Measurement]) -> str:
    """The medians by size, one panel for each way, as an SVG."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for title, (side, kind) in DRAWN.items():
        curves = panels.setdefault(title, {})
        for measurement in stored:
            if measurement["measures"] == "search" and measurement["side"] == side:
                for name, numbers in measurement["kinds"].get(kind, {}).items():
                    if "median" in numbers:
                        curves.setdefault(NAMES[name], []).append(
                            (measurement["bags"], numbers["median"])
                        )
    return draw(panels, "bags in the collection", "milliseconds, median")


def read(file: Path) -> list[Measurement]:
    """Read the measurements of the index."""
    return [row for row in measurements.read(file).values() if "measures" in row]
