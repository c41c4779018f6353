"""Exact searches of many rows on a GPU.

    python -m benchmarks.index.gpu_scan --rows 1000000 --out lines.jsonl

Rows are random, as each is read whole. The kernel is timed by the device's events,
a search by the clock, with what chooses the best and scores them again on the processor; what is
not in it is reading the vectors of these from the database. Needs nothing but the index's own
packages, numpy and torch.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from index.search.gpu import Device
from index.search.query import QueryPart, SentenceRole, exact_rows, totals
from index.search.requests import Request
from index.search.rescorer import Rescorer
from index.search.scan import Scan
from index.search.shortlist import number_rows
from index.segments.rows import Numbers, Rows, Side, freeze, offsets_of
from models.scores.kernels import Floats
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.threads import Workers
from models.types import FragmentBag, Span
from training.report import measurements

D, BEST, ROUNDS, WARM = 256, 16, 50, 5
BLOCK = 2**14  # rows that are drawn together
FRAGMENTS: dict[Side, tuple[int, int]] = {"images": (18, 22), "sentences": (6, 12)}
KINDS: dict[str, tuple[Side, tuple[tuple[int, float], ...]]] = {
    "12 words": ("images", ((12, 1.0),)),
    "24 words": ("images", ((24, 1.0),)),
    "2 words": ("images", ((2, 1.0),)),
    "negated": ("images", ((2, 1.0), (1, -0.5))),
    "photo": ("sentences", ((20, 1.0),)),
}
HEAD = ("search", "rows", "floor, ms", "kernel, ms", "ratio", "GB/s", "search, ms", "can be best")
SAYS = (
    "Exact searches by `python -m benchmarks.index.gpu_scan` on one {device}, which copies "
    "{copied:,.0f} GB/s (read and written). The floor is the bytes of all rows over that "
    "bandwidth; the kernel is timed by the device's events, a search by the clock until the "
    "processor knows which rows can be among the best: their vectors, read from the database, "
    "decide. Medians of {rounds}."
)


def make_rows(count: int, side: Side, seed: int) -> Rows:
    """Make random rows, as large as real ones and alike within."""
    random = np.random.default_rng(seed)
    sizes = random.integers(*FRAGMENTS[side], count)
    offsets = offsets_of(sizes)
    codes = np.empty((int(offsets[-1]), D), np.int8)

    def fill(start: int) -> None:
        drawn = np.random.default_rng((seed, start))
        some = sizes[start : start + BLOCK]
        part = codes[offsets[start] : offsets[start] + some.sum()]
        part[:] = np.frombuffer(drawn.bytes(part.size), np.int8).reshape(part.shape) >> 1
        rows = np.frombuffer(drawn.bytes(len(some) * D), np.int8).reshape(-1, D) >> 1
        part += np.repeat(rows, some, axis=0)

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, count, BLOCK)))
    summaries = random.standard_normal((count, D), np.float32) / 16
    scales = random.uniform(4e-4, 6e-4, count).astype(np.float32)
    return freeze(
        {
            "codes": codes,
            "offsets": offsets,
            "scales": scales,
            "reach": scales * np.float32(64 * D),
            "bases": np.abs(summaries).sum(axis=1, dtype=np.float32),
            "summaries": summaries.astype(np.float16),
            "revisions": np.arange(1, count + 1),
            "positions": np.full(count, -1 if side == "images" else 0, np.int32),
        }
    )


def make_query(parts: Sequence[tuple[int, float]], seed: int) -> Query:
    """Make a query of parts, given their sizes and weights."""
    random = torch.Generator().manual_seed(seed)
    bags = [
        FragmentBag(
            torch.randn(count, D, generator=random) / 16,
            tuple(Span(2 * i, 2 * i + 1) for i in range(count)),
            ("w",) * count,
        )
        for count, _ in parts
    ]
    return Query(tuple(bags), tuple(weight for _, weight in parts), None)


def copy_speed(device: str) -> float:
    """GB/s of a large copy on the device, bytes read and written."""
    source = torch.randint(0, 255, (2**32,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * len(source) / time_kernel(lambda: target.copy_(source), device) / 1e6


def time_kernel(work: Callable[[], object], device: str) -> float:
    """Milliseconds of work on the device, the median of ROUNDS."""
    taken = []
    for _ in range(WARM + ROUNDS):
        begun, ended = (
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            for _ in range(2)
        )
        begun.record()
        work()
        ended.record()
        torch.cuda.synchronize(device)
        taken.append(begun.elapsed_time(ended))
    return float(median(taken[WARM:]))


def time_search(work: Callable[[], object]) -> float:
    """Milliseconds by the clock, the median of ROUNDS."""
    taken = []
    for _ in range(WARM + ROUNDS):
        begun = time.perf_counter()
        work()
        taken.append(1e3 * (time.perf_counter() - begun))
    return median(taken[WARM:])


def measure(kind: str, rows: Rows, device: str) -> dict[str, Any]:
    """Measure one kind of query over all rows."""
    side, parts = KINDS[kind]
    score, query = SCORES["sum_of_max"], make_query(parts, seed=1)
    asked = side == "images"
    role = SentenceRole.QUERY_IS_SENTENCE if asked else SentenceRole.ROWS_ARE_SENTENCES
    terms = [
        QueryPart(bag.vectors.numpy(), weight, floored=weight < 0)
        for bag, weight in zip(query.parts, query.weights, strict=True)
    ]
    request = Request(side, query, limit=BEST - 6, exact=True)
    rescorer = Rescorer(score, Workers(2), device)
    scan = Scan(rescorer, request, terms)
    on_device = rescorer.device
    assert isinstance(on_device, Device)
    size = rows.codes.nbytes + (rows.summaries.nbytes if asked else 0)
    promising = 0

    def search() -> None:
        nonlocal promising
        scored = scan.score_on(on_device, [(rows, number_rows(rows.live))], BEST)
        assert scored is not None
        promising = sum(len(part.total) for part in scored)

    estimates = rescorer.estimates(scan.coded, rows)
    check(rows, terms, role, totals(estimates.scores, terms), estimates.errors)
    return {
        "rows": len(rows),
        "fragments": len(rows.codes),
        "bytes": size,
        "kernel": time_kernel(lambda: on_device.score(scan.coded, rows), device),
        "search": time_search(search),
        "promising": promising,
    }


def check(
    rows: Rows, terms: Sequence[QueryPart], role: SentenceRole, found: Floats, errors: Floats
) -> None:
    """Check the scores of the first, last and best rows."""
    ends = np.r_[:100, len(rows) - 100 : len(rows), np.argsort(found)[-100:]]
    for row in ends.tolist():
        first, last = rows.offsets[row : row + 2].tolist()
        vectors = rows.codes[first:last] * rows.scales[row]
        if role is SentenceRole.QUERY_IS_SENTENCE:
            vectors = vectors + rows.summaries[row].astype(np.float32)
        offsets: Numbers = np.array([0, last - first])
        true = totals(
            np.stack([exact_rows(SCORES["sum_of_max"], vectors, offsets, t, role) for t in terms]),
            terms,
        )
        off = sum(abs(t.weight) * float(e[row]) for t, e in zip(terms, errors, strict=True))
        assert abs(float(true[0]) - float(found[row])) <= off, (row, true, found[row], off)


def tabulate(measured: dict[str, Any]) -> list[list[str]]:
    """The rows of the page's table."""
    return [
        [
            f"{'image → text' if KINDS[kind][0] == 'sentences' else 'text → image'}, {kind}",
            f"{row['rows']:,}",
            f"{floor:.2f}",
            f"{row['kernel']:.2f}",
            f"{row['kernel'] / floor:.2f}",
            f"{row['bytes'] / row['kernel'] / 1e6:,.0f}",
            f"{row['search']:.2f}",
            f"{row['promising']:,}",
        ]
        for kind, row in measured["kinds"].items()
        for floor in [row["bytes"] / measured["copied"] / 1e6]
    ]


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--device", default="cuda")
    options.add_argument("--out", type=Path, default=measurements.FILE)
    asked = options.parse_args()
    measured: dict[str, Any] = {
        "measures": "gpu-scan",
        "device": torch.cuda.get_device_name(asked.device),
        "copied": copy_speed(asked.device),
        "rounds": ROUNDS,
        "kinds": {},
    }
    sides: dict[Side, Rows] = {}
    for kind, (side, _) in KINDS.items():
        rows = sides.get(side) or sides.setdefault(side, make_rows(asked.rows, side, 2))
        measured["kinds"][kind] = measure(kind, rows, asked.device)
        print(kind, json.dumps(measured["kinds"][kind]), flush=True)
    for row in [HEAD, *tabulate(measured)]:
        print(" | ".join(row))
    measurements.add(asked.out, {"gpu-scan": measured})


if __name__ == "__main__":
    main()
