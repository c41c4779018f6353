"""The index while it changes: imports, searches meanwhile, other processes, cold starts.

Each measurement is a function of a Setting that gives a few numbers. Writers are processes of their
own; clocks are the machine's monotonic one, which all processes share.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import get_native_id

import numpy as np

from app import priority
from benchmarks.engines.tessera import Opened, batches, delete_derived, entry
from benchmarks.index.bags import BagSource, Real
from benchmarks.index.growth import GrownCollection
from benchmarks.index.questions import read
from benchmarks.index.race import size
from index.items import Entry
from models.text.queries import Query

TOP = 10
PUT_AT = 10**7  # ids of what is put while others search
MARKED = 3.0  # how many times as long a photo's vectors are made, so that it comes first
STARTING = 10.0  # seconds until the follower's process has imported what it needs
SLOW = 0.95  # the quantile from which on searches count as slow
PATIENCE = 120.0  # seconds until an item has to be found

Numbers = dict[str, float]


@dataclass(frozen=True, slots=True)
class Setting:
    """A collection of photos, its folder, and the duration of measurements.

    `waiting` is the pause between a reader's searches, so that it does not take the processor that
    the writer would have; `puts` is how many items are waited for in another process.
    """

    real: Real
    work: Path
    photos: int = 20_000
    seconds: float = 30.0
    puts: int = 20
    batch: int = 16
    waiting: float = 0.02

    @property
    def source(self) -> GrownCollection:
        """The collection's photos."""
        return GrownCollection(self.real, "images", self.photos)

    @property
    def queries(self) -> list[Query]:
        """Sentences for searches, in turn."""
        return read(self.real, "12 words", 200)

    def open(self, folder: Path, *, live: bool = False) -> Opened:
        """A data folder."""
        return Opened(folder, self.source.dimension, "images", live=live)


@contextmanager
def open_filled(setting: Setting) -> Iterator[tuple[Opened, Path]]:
    """A fresh copy of a filled data folder, built once and kept."""
    template = setting.work / f"living-{setting.source.key}"
    marker = template.with_suffix(".done")
    if not marker.exists():
        shutil.rmtree(template, ignore_errors=True)
        opened = setting.open(template)
        for batch in batches(setting.source, 256):
            opened.put(batch)
        opened.complete()
        opened.close()
        marker.touch()
    folder = setting.work / "living"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    opened = setting.open(folder, live=True)
    try:
        yield opened, folder
    finally:
        opened.close()
        shutil.rmtree(folder, ignore_errors=True)


def ingest(setting: Setting) -> Numbers:
    """Items a second through Catalog.put_many, and bytes a photo when indexed."""
    numbers: Numbers = {}
    for batch in (16, 256):
        folder = setting.work / f"ingest-{batch}"
        shutil.rmtree(folder, ignore_errors=True)
        opened, taken = setting.open(folder), 0.0
        photos = min(setting.photos, 64 * batch)
        for entries in batches(replace(setting.source, count=photos), batch):
            begun = time.perf_counter()
            opened.put(entries)
            taken += time.perf_counter() - begun
        numbers[f"items_per_second_{batch}"] = photos / taken
        begun = time.perf_counter()
        opened.complete()
        numbers[f"seconds_to_complete_{batch}"] = time.perf_counter() - begun
        numbers[f"bytes_per_photo_{batch}"] = size(folder) / photos
        opened.close()
        shutil.rmtree(folder)
    return numbers


def during_ingest(setting: Setting) -> Numbers:
    """Quantiles of searches, in milliseconds, alone and while another process stores items."""
    with open_filled(setting) as (opened, folder):
        time.sleep(STARTING)
        for query in setting.queries[:5]:
            opened.search(query, TOP)
        idle = time_searches(opened, setting)
        with writer(setting, folder, "stream", str(setting.batch)) as process:
            assert process.stdout is not None
            process.stdout.readline()  # the writer has begun
            busy = time_searches(opened, setting)
    numbers = {f"{name}_idle": value for name, value in idle.items()}
    numbers |= {f"{name}_busy": value for name, value in busy.items()}
    return numbers | {f"{name}_ratio": busy[name] / idle[name] for name in ("p50", "p99")}


def time_searches(opened: Opened, setting: Setting) -> Numbers:
    """Quantiles of the setting's searches, and the waits of the slowest."""
    taken: list[tuple[float, float, float]] = []
    queries, end = setting.queries, time.monotonic() + setting.seconds
    while time.monotonic() < end:
        begun, computed, queued = time.perf_counter(), time.thread_time(), time_in_queue()
        opened.search(queries[len(taken) % len(queries)], TOP)
        queued, computed = time_in_queue() - queued, time.thread_time() - computed
        taken.append((1000 * (time.perf_counter() - begun), 1000 * computed, 1000 * queued))
        time.sleep(setting.waiting)
    clock, computed_each, queued_each = np.array(taken).T
    p50, p99 = np.quantile(clock, (0.5, 0.99))
    slow = clock >= np.quantile(clock, SLOW)
    waited = clock - computed_each - queued_each
    return {
        "p50": float(p50),
        "p99": float(p99),
        "longest": float(clock.max()),
        "searches": float(len(taken)),
        "slow": float(clock[slow].mean()),
        "slow_computing": float(computed_each[slow].mean()),
        "slow_in_queue": float(queued_each[slow].mean()),
        "slow_waiting": float(waited[slow].mean()),
    }


def time_in_queue() -> float:
    """Seconds of the calling thread in the queue for a processor."""
    queued = Path(f"/proc/self/task/{get_native_id()}/schedstat").read_text().split()[1]
    return int(queued) / 1e9


def elsewhere(setting: Setting) -> Numbers:
    """Seconds from a put to a hit in another process."""
    waits: list[float] = []
    with open_filled(setting) as (opened, folder):
        opened.search(setting.queries[0], TOP)
        with writer(setting, folder, "marked", str(setting.puts)) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for number in range(setting.puts):
                query = setting.queries[number % len(setting.queries)]
                process.stdin.write("next\n")
                process.stdin.flush()
                stored = json.loads(process.stdout.readline())
                waits.append(wait_for(opened, query, stored["id"]) - stored["at"])
    p50, p99 = np.quantile(waits, (0.5, 0.99))
    return {"p50": float(p50), "p99": float(p99), "longest": max(waits)}


def wait_for(opened: Opened, query: Query, item: str) -> float:
    """The time of an item's first appearance in answers."""
    end = time.monotonic() + PATIENCE
    while item not in opened.search(query, TOP):
        if time.monotonic() > end:
            raise SystemExit(f"{item} was not found within {PATIENCE:.0f} s")
    return time.monotonic()


def cold(setting: Setting) -> Numbers:
    """Seconds from opening a catalog without segments to first and complete answers.

    And how many changes the first answer said that it had not looked at.
    """
    with open_filled(setting) as (opened, folder):
        queries = setting.queries[:TOP]
        truth = [opened.search(query, TOP, exact=True) for query in queries]
        opened.close()
        delete_derived(folder)
        begun = time.monotonic()
        fresh = setting.open(folder, live=True)
        fresh.search(queries[0], TOP)
        first = time.monotonic() - begun
        behind = fresh.index.behind
        while not fresh.whole():
            if time.monotonic() > begun + PATIENCE:
                raise SystemExit(f"not complete within {PATIENCE:.0f} s")
            time.sleep(0.05)
        complete = time.monotonic() - begun
        answers = [fresh.search(query, TOP, exact=True) for query in queries]
        assert answers == truth, "a cold start lost something"
        fresh.close()
    return {"first": first, "complete": complete, "behind_at_first": float(behind)}


MEASUREMENTS: dict[str, Callable[[Setting], Numbers]] = {
    "ingest": ingest,
    "during ingest": during_ingest,
    "elsewhere": elsewhere,
    "cold": cold,
}


@contextmanager
def writer(setting: Setting, folder: Path, *how: str) -> Iterator[subprocess.Popen[str]]:
    """A process to store items until the block ends."""
    command = [sys.executable, "-m", "benchmarks.index.speed", "writer", str(folder), *how]
    command += ["--real", str(setting.real.folder)]
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def write(setting: Setting, folder: Path, how: str, number: int) -> None:
    """Run the writer.

    A stream in batches of `number`, or `number` marked photos.
    """
    opened = setting.open(folder)
    if how == "stream":
        stream(opened, setting, number)
    else:
        write_marked(opened, setting, number)


def stream(opened: Opened, setting: Setting, batch: int) -> None:
    """Store new photos until killed, with the priority of `tessera index`."""
    priority.lower(priority.BACKGROUND)
    source = replace(setting.source, count=10**6, grown_only=True, seed=2)
    for number, entries in enumerate(batches(source, batch)):
        opened.put([replace(entry, id=f"{PUT_AT + int(entry.id)}") for entry in entries])
        if not number:
            print("begun", flush=True)


def write_marked(opened: Opened, setting: Setting, puts: int) -> None:
    """Store the next query's best photo at each line."""
    for number in range(puts):
        sys.stdin.readline()
        query = setting.queries[number % len(setting.queries)]
        item = likeliest(setting.source, query, number)
        opened.put([item])
        print(json.dumps({"id": item.id, "at": time.monotonic()}), flush=True)


def likeliest(source: BagSource, query: Query, number: int) -> Entry:
    """A photo of the collection, changed to answer a query best by far."""
    block = next(source.blocks()).part(0, 1)
    words = query.parts[0].vectors.numpy().sum(0)
    vectors = block.vectors.astype(np.float32)
    length = np.linalg.norm(vectors[0]) * MARKED
    vectors += length * words / np.linalg.norm(words)
    photo = replace(block, vectors=vectors.astype(np.float16))
    return entry(photo, 0, PUT_AT * 2 + number, "images")
