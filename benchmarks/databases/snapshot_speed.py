"""Duration of snapshots, restores and checks, and the latency of searches meanwhile.

    python -m benchmarks.databases.snapshot_speed --work /tmp/speed --items 20000

Items have random vectors in the shape of the default matcher's (20 regions, five sentences of 11
words, 257 numbers) and pictures of 60 kB that no compression makes smaller.
"""

from __future__ import annotations

import argparse
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import torch

from index.backup import snapshots as backup
from index.backup.checks.everything import check
from index.catalog.catalog import Catalog
from index.catalog.pictures import name_of
from index.items import Entry, Picture
from index.search.index import Index
from index.search.requests import Request
from models.text.queries import Query
from models.types import Box, FragmentBag, Span

REGIONS, WORDS, SENTENCES, DIMENSION = 20, 11, 5, 257
PICTURE = 60_000  # bytes
BATCH = 250
SEED = 1


def main() -> None:
    """Measure, and print a row of a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="An empty folder, kept.")
    parser.add_argument("--items", type=int, default=20_000)
    options = parser.parse_args()
    data, archive = options.work / "data", options.work / "snapshot.tar"
    if not data.exists():
        fill(data, options.items)
    with closing(Catalog.in_folder(data)) as catalog:
        measure("VACUUM INTO, for comparison", lambda: vacuum(data, options.work / "vacuum.sqlite"))
        archive.unlink(missing_ok=True)
        measure("snapshot", lambda: backup.snapshot(catalog, archive, quiet))
        archive.unlink()
        with closing(Index(catalog, catalog.names.find("default"), data / "segments")) as index:
            index.best(question(0))
            times("search, alone", index, lambda: time.sleep(10))
            during = lambda: backup.snapshot(catalog, archive, quiet)  # noqa: E731 - for one line
            times("search, during a snapshot", index, during)
        measure("check", lambda: list(check(catalog, data, quiet)))
    measure("verify", lambda: backup.verify(archive, quiet))
    with closing(Catalog.in_folder(options.work / "restored")) as fresh:
        restored = options.work / "restored"
        measure("restore", lambda: backup.restore(fresh, archive, restored, quiet, force=True))
    print(f"snapshot: {archive.stat().st_size:,} bytes")


def fill(folder: Path, count: int) -> None:
    """Make the items."""
    print(f"making {count:,} items in {folder}")
    generator, numbers = torch.Generator().manual_seed(SEED), np.random.default_rng(SEED)
    with closing(Catalog.in_folder(folder)) as catalog:
        home = catalog.names.make(
            "default", fingerprint="random", dimension=DIMENSION, score="sum_of_max"
        )
        for start in range(0, count, BATCH):
            entries = [entry(number, generator, numbers) for number in range(start, start + BATCH)]
            catalog.put_many(home, entries)


def entry(number: int, generator: torch.Generator, numbers: np.random.Generator) -> Entry:
    """An item."""
    jpeg = numbers.bytes(PICTURE)
    boxes = tuple(Box(0, 0, (place + 1) / REGIONS, 1) for place in range(REGIONS))
    spans = tuple(Span(place, place + 1) for place in range(WORDS))
    regions = torch.randn(REGIONS, DIMENSION, generator=generator)
    words = [torch.randn(WORDS, DIMENSION, generator=generator) for _ in range(SENTENCES)]
    return Entry(
        f"item {number}",
        {"album": f"a{number % 50}", "number": number, "tags": ["x", str(number % 7)]},
        (Picture(jpeg, 1280, 853, name_of(jpeg)),),
        (FragmentBag(regions, boxes, tuple(f"region {place}" for place in range(REGIONS))),),
        ("a sentence",) * SENTENCES,
        tuple(FragmentBag(vectors, spans, ("word",) * WORDS) for vectors in words),
    )


def question(seed: int) -> Request:
    """A text of some words, for photos."""
    vectors = torch.randn(WORDS, DIMENSION, generator=torch.Generator().manual_seed(seed))
    spans = tuple(Span(place, place + 1) for place in range(WORDS))
    return Request("images", Query.of(FragmentBag(vectors, spans, ("word",) * WORDS)), limit=10)


def vacuum(folder: Path, target: Path) -> None:
    """SQLite's own copy of the database alone."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection:
        connection.execute("VACUUM INTO ?", [str(target)])
    target.unlink()


def measure(name: str, work: Callable[[], object]) -> None:
    """Print the duration of some work, by the clock and the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"| {name} | {wall:.1f} s | {processor:.1f} s |", flush=True)


def times(name: str, index: Index, work: Callable[[], object]) -> None:
    """Print the durations of searches during some work, with pauses."""
    job = threading.Thread(target=work)
    job.start()
    milliseconds: list[float] = []
    while job.is_alive():
        start = time.perf_counter()
        index.best(question(len(milliseconds)))
        milliseconds.append(1000 * (time.perf_counter() - start))
        time.sleep(0.1)
    middle, late = np.percentile(milliseconds, [50, 95])
    print(f"| {name} | median {middle:.0f} ms | 95 % within {late:.0f} ms |", flush=True)


def quiet(*_: object) -> None:
    """Hear of progress, and say nothing."""


if __name__ == "__main__":
    main()
