"""A model of many photos' cost on many machines.

Measurements check it.

A search waits for its slowest shard: T = hop + max over shards of t(N / A), where A actors share N
photos. An exact scan reads a number of bytes of every photo, so t grows with N; a search by
candidates looks at a number of lists that grows with a power of N (docs/research/performance.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.index import curves

# Bytes of a photo of 20 fragments of 258 numbers in a segment: codes, heads and extremes, a summary
# in half precision and FAISS's 8-bit copy of it, and some 40 of numbers.
CODES, HEADS, SUMMARY, LISTED, REST = 20 * 258, 1432, 2 * 258, 272, 40
PHOTO = CODES + HEADS + SUMMARY + LISTED + REST
STORED = 2 * 20 * 258 + 2000  # bytes in the database: halves, places and labels, indexes
ANSWER = 790  # bytes of a shard's answer: 16 contenders of five numbers
POWER = math.log(24.1 / 6.89) / math.log(
    50
)  # docs/research/performance.md: from 20,000 to a million photos
NODE = 64 * 2**30  # bytes of memory that a node has for segments
CORES = 2  # of the machine that was measured
SIZES = (10**7, 10**8, 10**9)


def predict(search: Mapping[str, Any], kind: str, actors: int) -> float:
    """Milliseconds of a search by `actors` on one machine.

    From those of one actor.

    Of N photos an actor has N / A; A actors share the machine's processors.
    """
    row = search["actors"]["1"][kind]
    hop = max(row["difference"], 0.0)
    alone = row["cluster"] - hop
    share = 1 / actors if kind == "exact scan" else actors**-POWER
    return float(hop + alone * share * max(1.0, actors / CORES))


def on_machines(search: Mapping[str, Any], kind: str, photos: int, actors: int) -> float:
    """Milliseconds of a search by actors with a processor each."""
    row = search["actors"]["1"][kind]
    hop = max(row["difference"], 0.0)
    growth = photos / actors / search["photos"]
    power = 1.0 if kind == "exact scan" else POWER
    return float(hop + (row["cluster"] - hop) * growth**power)


def add_delay(times: Mapping[str, float], delay: float) -> float:
    """Milliseconds of a search with delayed messages, from those without a delay.

    All shards are asked at once, each by one message, and each answers by one.
    """
    return times["0"] + 2 * delay


def nodes(photos: int) -> int:
    """The number of nodes for all segments in memory, once."""
    return math.ceil(photos * PHOTO / NODE)


def tables(searches: Sequence[Mapping[str, Any]]) -> str:
    """Measurements next to the model's numbers, and the cost of more photos.

    As Markdown.
    """
    lines = [
        "| photos | actors | empty question | search | local ms | cluster ms | ratio | model ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for search in searches:
        for actors in sorted(search["actors"], key=int):
            for kind, row in search["actors"][actors].items():
                lines.append(
                    f"| {search['photos']:,} | {actors} | {search['empty'][actors]:.1f} | {kind} | "
                    f"{row['local']:.1f} | {row['cluster']:.1f} | {row['ratio']:.2f} | "
                    f"{predict(search, kind, int(actors)):.1f} |"
                )
    lines += [
        "",
        "| photos | segments | database | nodes | bytes to merge | candidates ms | exact scan ms |",
    ]
    lines += ["|---|---|---|---|---|---|---|", *(_row(searches[-1], photos) for photos in SIZES)]
    return "\n".join(lines)


def delays_table(delays: Mapping[str, Any]) -> str:
    """Searches with delayed messages next to the model's numbers, as Markdown."""
    lines = ["| actors | search | delay of a message, ms | measured ms | model ms |"]
    lines += ["|---|---|---|---|---|"]
    lines += [
        f"| {actors} | {kind} | {delay} | {time:.1f} | {add_delay(times, float(delay)):.1f} |"
        for actors, kinds in delays["actors"].items()
        for kind, times in kinds.items()
        for delay, time in times.items()
    ]
    return "\n".join(["", *lines])


def _row(search: Mapping[str, Any], photos: int) -> str:
    count = nodes(photos)
    by_list, exact = (
        on_machines(search, kind, photos, count) for kind in ("candidates", "exact scan")
    )
    held, stored = (photos * size / 1e9 for size in (PHOTO, STORED))
    return (
        f"| {photos:,} | {held:,.0f} GB | {stored:,.0f} GB | {count:,} | "
        f"{count * ANSWER / 1e3:.0f} KB | {by_list:,.0f} | {exact:,.0f} |"
    )


def picture(searches: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Draw milliseconds by photos, with enough nodes, from the largest measurement."""
    largest = searches[-1]
    sizes = [size for size in (10**at for at in (6, 7, 8, 9)) if size > largest["photos"]]
    measured = {
        f"{kind}, measured": [
            (float(search["photos"]), search["actors"]["1"][kind]["cluster"]) for search in searches
        ]
        for kind in ("candidates", "exact scan")
    }
    by_node = {
        kind: [(float(n), on_machines(largest, kind, n, nodes(n))) for n in sizes]
        for kind in ("candidates", "exact scan")
    }
    single_actor = {
        kind: [(float(n), on_machines(largest, kind, n, 1)) for n in (largest["photos"], *sizes)]
        for kind in ("candidates", "exact scan")
    }
    panels = {"one actor": {**single_actor, **measured}, "as many nodes as hold them": by_node}
    file.write_text(curves.draw(panels, "photos", "milliseconds"))


def delays_picture(delays: Mapping[str, Any], file: Path) -> None:
    """Draw milliseconds by the delay of a message, measured and modelled."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for actors, kinds in delays["actors"].items():
        for kind, times in kinds.items():
            points = [(float(delay), time) for delay, time in times.items() if float(delay)]
            curves_of_kind = panels.setdefault(kind, {})
            curves_of_kind[f"{actors} actors, measured"] = points
            curves_of_kind[f"{actors} actors, model"] = [
                (delay, add_delay(times, delay)) for delay, _ in points
            ]
    file.write_text(curves.draw(panels, "delay of a message, milliseconds", "milliseconds"))
