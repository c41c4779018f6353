"""Engines with the same queries in turn, under equal load."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from statistics import mean, median

import numpy as np

from benchmarks.engines.engine import SearchEngine, Unable
from benchmarks.index.bags import BagSource
from benchmarks.index.truth import TOP, TrueAnswers
from models.text.queries import Query

OURS = "Tessera"
WARM, LEAST = 2, 5  # queries that are not timed; queries that every engine answers
SPARE = 2**30  # bytes of memory that are left to others
MISSING = "its package is not installed"

# What the command calls an engine, its module and class, and whether it is told of threads.
ENGINES: dict[str, tuple[str, str, bool]] = {
    "tessera": ("tessera", "Tessera", False),
    "tessera-links": ("tessera", "TesseraLinks", False),
    "tessera-exact": ("tessera", "TesseraExact", False),
    "tessera-codes": ("tessera", "TesseraCodes", False),
    "numpy": ("products", "Numpy", False),
    "torch": ("products", "Torch", False),
    "faiss-summaries": ("flat", "FlatSummaries", False),
    "faiss-fragments": ("flat", "FlatFragments", False),
    "qdrant": ("qdrant", "Qdrant", True),
    "qdrant-hnsw": ("qdrant", "QdrantGraph", True),
    "qdrant-two-stages": ("qdrant", "QdrantTwoStages", True),
    "lance": ("lance", "Lance", False),
}


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Limits in seconds, for building and for queries."""

    build: float = 1800.0
    search: float = 60.0


@dataclass(frozen=True, slots=True)
class Built:
    """The cost of a store."""

    seconds: float
    bytes: int


@dataclass(slots=True)
class Answers:
    """An engine's results: milliseconds and recall of each query."""

    taken: dict[int, float] = field(default_factory=dict)
    recalls: dict[int, float] = field(default_factory=dict)
    unable: str | None = None


def engine(name: str, threads: int) -> SearchEngine:
    """An engine by its name.

    Unable if its package is missing.
    """
    module, kind, threaded = ENGINES[name]
    try:
        made = getattr(import_module(f"benchmarks.engines.{module}"), kind)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("benchmarks"):
            raise
        raise Unable(MISSING) from missing
    opened: SearchEngine = made(threads) if threaded else made()
    return opened


def store(engine: SearchEngine, source: BagSource, work: Path, limits: TimeLimits) -> Built | None:
    """The cost of an engine's store, built now or before.

    None without a lasting store.

    Unable where smaller collections tell that building would take too long.
    """
    if engine.store == "none":
        return None
    folder = place(engine, source, work)
    record = folder.with_suffix(".json")
    if not record.exists():
        seconds = estimate_seconds(engine, source, work)
        if seconds > limits.build:
            raise Unable(f"building would take about {seconds / 60:.0f} minutes")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        begun = time.perf_counter()
        engine.build(source, folder)
        built = Built(time.perf_counter() - begun, size(folder))
        record.write_text(json.dumps(asdict(built) | {"bags": len(source)}))
    recorded = json.loads(record.read_text())
    return Built(recorded["seconds"], recorded["bytes"])


def place(engine: SearchEngine, source: BagSource, work: Path) -> Path:
    """The folder of an engine's store."""
    return work / f"{source.key}--{engine.store}"


def estimate_seconds(engine: SearchEngine, source: BagSource, work: Path) -> float:
    """The expected seconds for a store, from the largest smaller one, or 0."""
    pattern = f"{source.side}-*--{engine.store}.json"
    records = [json.loads(path.read_text()) for path in work.glob(pattern)]
    largest = max(records, key=lambda record: record["bags"], default=None)
    return len(source) * largest["seconds"] / largest["bags"] if largest else 0.0


def size(folder: Path) -> int:
    """The bytes of a folder's files on disk."""
    return sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())


def fits(engine: SearchEngine, source: BagSource) -> None:
    """Raise Unable for too little memory."""
    needed, free = engine.needs(source), available() - SPARE
    if needed > free:
        raise Unable(
            f"needs {needed / 2**30:.1f} GB of memory, {max(free, 0) / 2**30:.1f} are free"
        )


def available() -> int:
    """The bytes of free memory."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


@contextmanager
def open_engines(
    names: Sequence[str], source: BagSource, work: Path, threads: int, limits: TimeLimits
) -> Iterator[tuple[dict[str, SearchEngine], dict[str, Built], dict[str, str]]]:
    """The available engines, their stores' cost, and the reasons for missing ones."""
    engines: dict[str, SearchEngine] = {}
    built: dict[str, Built] = {}
    skipped: dict[str, str] = {}
    for name in names:
        try:
            made = engine(name, threads)
            fits(made, source)
            took = store(made, source, work, limits)
            made.open(source, place(made, source, work))
        except (Unable, NotImplementedError) as why:
            skipped[name] = str(why)
            print(f"  {name}: skipped, {why}", flush=True)
            continue
        engines[name] = made
        if took:
            built[name] = took
            print(f"  {name}: built in {took.seconds:.1f} s, {took.bytes:,} bytes", flush=True)
    try:
        yield engines, built, skipped
    finally:
        for made in engines.values():
            made.close()


def race(
    engines: dict[str, SearchEngine], queries: Sequence[Query], truth: TrueAnswers, seconds: float
) -> dict[str, Answers]:
    """Ask each query of each engine, another one first each time.

    An engine that has used its seconds up drops out, but not before LEAST queries.
    """
    answers = {name: warm_up(made, queries[:WARM]) for name, made in engines.items()}
    for number, query in enumerate(queries):
        for name in rotate([*engines], number):
            done = answers[name]
            spent = sum(done.taken.values()) / 1000
            if done.unable or (spent > seconds and len(done.taken) >= LEAST):
                continue
            begun = time.perf_counter()
            ranked = engines[name].search(query, TOP)
            done.taken[number] = 1000 * (time.perf_counter() - begun)
            done.recalls[number] = truth.recall(number, ranked)
    return answers


def warm_up(made: SearchEngine, queries: Sequence[Query]) -> Answers:
    """Answer some queries untimed, to fill caches and compile kernels."""
    try:
        for query in queries:
            made.search(query, TOP)
    except Unable as why:
        return Answers(unable=str(why))
    return Answers()


def rotate(names: list[str], by: int) -> list[str]:
    """The names, beginning with another one."""
    by %= max(1, len(names))
    return names[by:] + names[:by]


def summarize(answers: dict[str, Answers]) -> dict[str, dict[str, float | int | str]]:
    """Quantiles in ms, recall, and the median ratio to Tessera.

    The ratio is query by query.
    """
    ours = answers.get("tessera", Answers()).taken
    return {name: summarize_engine(theirs, ours) for name, theirs in answers.items()}


def summarize_engine(answers: Answers, ours: dict[int, float]) -> dict[str, float | int | str]:
    """One engine's numbers, or the reason for none."""
    if answers.unable or not answers.taken:
        return {"unable": answers.unable or "answered nothing"}
    times = [*answers.taken.values()]
    numbers: dict[str, float | int | str] = {
        "queries": len(times),
        "median": median(times),
        "p95": float(np.quantile(times, 0.95)),
        "p99": float(np.quantile(times, 0.99)),
        "recall": mean(answers.recalls.values()),
    }
    if both := [took / ours[query] for query, took in answers.taken.items() if query in ours]:
        numbers["ratio"] = median(both)
    return numbers


def measure_resident(arguments: Sequence[str]) -> dict[str, int]:
    """The memory of an engine in its own process, see `measure_growth`."""
    command = [sys.executable, "-m", "benchmarks.index.speed", "resident", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    sizes: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return sizes


def measure_growth(work: Callable[[], object]) -> dict[str, int]:
    """The growth in bytes of this process by some work.

    Own memory, and files.
    """
    before = memory()
    work()
    return {name: value - before[name] for name, value in memory().items()}


def memory() -> dict[str, int]:
    """Resident bytes of this process: its own (`own`) and of mapped files (`files`)."""
    rows = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    names = {"own": "RssAnon", "files": "RssFile"}
    return {name: 1024 * int(rows[row].split()[0]) for name, row in names.items()}
