"""Stages of a search over photos: their processor time and its floor.

    python -m benchmarks.index.stages --real .bench/real --work .bench/work --photos 20000

Every query is asked twice in a row: cold, after 128 MB of other memory were read, and warm. `index`
is the engine with embedded queries, `HTTP` a service on 127.0.0.1 with its models, links and JSON,
for the same numbers of words, asked by another process. A stage's floor is the bytes that it reads
over the bandwidth of one thread. Stores are kept in --work, and results are a line of --out.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import machine
from benchmarks.engines.tessera import BATCH, Tessera, batches
from benchmarks.index import questions
from benchmarks.index.bags import Real
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.race import TimeLimits, place, store
from index.segments import candidates
from index.segments.candidates import Structure
from training.markdown import line
from training.report import measurements

if TYPE_CHECKING:
    from app.engine.engine import Engine

KINDS = ("12 words", "2 words")
OTHER = 2**24  # numbers that are read before a cold search: 128 MB
LOOKED_UP = 16  # bags that exact scores come from: ten, one more, and five to spare
TOTAL = "all"

# What a stage is called, and the functions that do its work.
INDEX = {
    "request checked": "index.search.scanner:Scanner.prepare",
    "candidates by codes": "index.segments.candidates:Structure.nearest",
    "candidates by summaries": "index.segments.candidates:multiply_summaries",
    "codes of fragments": "models.scores.byte_dots:ByteDots.__call__",
    "bags read from the database": "index.catalog.catalog:Catalog.look_up",
    "exact products": "index.search.query:exact_rows",
    TOTAL: "index.search.index:Index.best",
}
HTTP = {
    "words to vectors": "app.engine.inference:Models.query",
    "names, places and dates": "app.engine.photo_search:_read_words",
    "index": "index.search.index:Index.best",
    "items read": "index.catalog.catalog:Catalog.get_many",
    "links and boxes": "app.answers.photos:image_hit",
    "JSON": "app.schemas.hits:ImageHits.model_dump_json",
}


@dataclass(slots=True)
class Watch:
    """Milliseconds of processor time in watched functions."""

    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def over(self, stages: dict[str, str]) -> Iterator[None]:
        """Watch some functions."""
        replaced = []
        for name, where in stages.items():
            module, _, path = where.partition(":")
            owner: Any = importlib.import_module(module)
            *inner, last = path.split(".")
            for part in inner:
                owner = getattr(owner, part)
            function = getattr(owner, last)
            replaced.append((owner, last, function))
            setattr(owner, last, self._watch(name, function))
        try:
            yield
        finally:
            for owner, last, function in replaced:
                setattr(owner, last, function)

    def _watch(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def time_call(*arguments: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.spent[name] += 1_000 * (time.thread_time() - begun)

        return time_call


def measure(ask: Callable[[Any], float], queries: Sequence[Any], watch: Watch) -> dict[str, Any]:
    """Ask queries cold and warm; return the median milliseconds of each stage.

    `ask` returns those by the clock.
    """
    other, taken = np.ones(OTHER), defaultdict[str, list[float]](list)
    ask(queries[0])
    for query in queries[1:]:
        for state in ("cold", "warm"):
            if state == "cold":
                other.sum()
            watch.spent.clear()
            before = time.process_time()
            taken[f"{state} clock"].append(ask(query))
            taken[f"{state} process"].append(1_000 * (time.process_time() - before))
            for name, spent in watch.spent.items():
                taken[f"{state} {name}"].append(spent)
    return {name: median(times) for name, times in taken.items()}


def measure_index(source: GrownCollection, asked: argparse.Namespace) -> dict[str, Any]:
    """Measure stages of the index."""
    engine, watch, kinds = Tessera(), Watch(), dict[str, Any]()
    store(engine, source, asked.work, TimeLimits())
    engine.open(source, place(engine, source, asked.work))

    def ask(query: Any) -> float:
        begun = time.perf_counter()
        engine.search(query, 10)
        return 1_000 * (time.perf_counter() - begun)

    for kind in KINDS:
        queries = questions.read(source.real, kind, asked.queries)
        with watch.over(INDEX):
            kinds[kind] = measure(ask, queries, watch)
        kinds[kind]["bytes"] = count_bytes(engine, source, kind)
    engine.close()
    return kinds


def count_bytes(engine: Tessera, source: GrownCollection, kind: str) -> dict[str, float]:
    """The least bytes of stages, read from memory."""
    rows, D = len(source), source.dimension
    chosen = candidates.count_candidates(rows, 10, int(kind.split()[0]))
    structures = [
        segment.structures["images"]
        for segment in engine.opened.index.snapshot().segments
        if "images" in segment.structures
    ]
    fine = candidates.are_fine(structures, [s.index.ntotal for s in structures])
    bag = source.fragments / rows * D  # numbers
    return {
        "candidates by codes": sum(count_read(s, rows) * s.index.code_size for s in structures),
        "candidates by summaries": 2 * D * candidates.count_by_codes(rows, chosen, fine=fine),
        "codes of fragments": chosen * bag,
        "bags read from the database": LOOKED_UP * 2 * bag,
        "exact products": LOOKED_UP * 4 * bag,
    }


def count_read(structure: Structure, every: int) -> int:
    """About the rows in the cells of a search, of all rows."""
    rows: int = structure.index.ntotal
    if structure.cells == 1:
        return rows
    return min(rows, candidates.count_looked_at(rows, rows / every))


def measure_http(source: GrownCollection, asked: argparse.Namespace) -> dict[str, Any]:
    """Stages of answers over HTTP, with a new text each time."""
    from app.settings import Settings
    from benchmarks.service import client_process
    from benchmarks.service.sentence_search import serve

    engine, watch, kinds = open_service(source, asked.work), Watch(), dict[str, Any]()
    settings = Settings(captioner=None, region_captioner=None, grounder=None)
    engine.serve()
    with (
        serve(settings, engine) as address,
        client_process.connect(address, "/search/image") as post,
    ):
        for kind, texts in read_texts(source.real, asked.queries).items():
            with watch.over(HTTP):
                kinds[kind] = measure(lambda text: post({"text": text, "limit": 10}), texts, watch)
    engine.close()
    return kinds


def open_service(source: GrownCollection, work: Path) -> Engine:
    """Open a service's engine over the collection, stored if it is missing."""
    from app.engine.engine import Engine
    from app.settings import Settings

    folder = work / f"{source.key}--service"
    settings = Settings(data=folder, captioner=None, region_captioner=None, grounder=None)
    engine = Engine.load(settings)
    home = engine.open("default", create=True)
    if engine.catalog.count(home) < len(source):
        for batch in batches(source, BATCH):
            engine.catalog.put_many(home, batch)
    engine.indexes.build()
    return engine


def read_texts(real: Real, count: int) -> dict[str, list[str]]:
    """Held-out sentences, and phrases of an adjective and a noun."""
    long = [text for text in real.texts if len(text.split()) == questions.LONG]
    short, _ = questions.phrases(real.texts[: questions.PARSED], count)
    return {"12 words": long[:count], "2 words": short}


def tabulate(measured: dict[str, Any]) -> list[str]:
    """Rows of the page: microseconds of each stage, and its floor."""
    rows = []
    for part, stages in (("index", INDEX), ("HTTP", HTTP)):
        kinds = measured[part]
        for stage in [*(name for name in stages if name != TOTAL), "the rest", "by the clock"]:
            cells = [microseconds(kinds[kind], stage, stages) for kind in KINDS]
            floors = [kinds[kind].get("bytes", {}).get(stage) for kind in KINDS]
            bandwidth = measured["machine"]["read_one"]
            floor = " and ".join(f"{each / bandwidth / 1e3:,.0f}" for each in floors if each)
            rows.append(line([part, stage, *(text for pair in cells for text in pair), floor]))
    return rows


def microseconds(taken: dict[str, Any], stage: str, stages: dict[str, str]) -> list[str]:
    """A stage's time, cold and warm."""
    cells = []
    for state in ("cold", "warm"):
        if stage == "by the clock":
            spent = taken[f"{state} clock"]
        elif stage == "the rest":
            whole = taken[f"{state} {TOTAL}" if TOTAL in stages else f"{state} process"]
            parts = (taken.get(f"{state} {name}", 0.0) for name in stages if name != TOTAL)
            spent = whole - sum(parts)
        else:
            spent = taken.get(f"{state} {stage}", 0.0)
        cells.append(f"{1_000 * spent:,.0f}")
    return cells


HEAD = ("part", "stage", "12 words, cold", "warm", "2 words, cold", "warm", "floor")
SAYS = (
    "Microseconds of a search over {photos:,} photos by `python -m benchmarks.index.stages`, "
    "medians: cold, after 128 MB of other memory were read, and warm, when the same query is asked "
    "again. Stages are the processor's time of one thread; a floor is the bytes that a stage reads "
    "over the bandwidth of one thread, {read_one:.1f} GB/s, for 12 and for 2 words. Over HTTP, a "
    "warm query's vectors are remembered, the rest is that of the service's process, and the "
    "client is another one. "
    "The machine's load was {load:.0f} on {cores} cores of {processor}."
)


def main() -> None:
    """Measure, store and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_places(parser)
    parser.add_argument("--out", type=Path, default=measurements.FILE)
    parser.add_argument("--photos", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    machine.use(asked.threads)
    source = GrownCollection(Real(asked.real), "images", asked.photos)
    measured = {
        "measures": "stages",
        "photos": asked.photos,
        "machine": machine.describe(asked.threads),
        "index": measure_index(source, asked),
        "HTTP": measure_http(source, asked),
    }
    measurements.add(asked.out, {"index-stages": measured})
    print("\n".join([line(HEAD), *tabulate(measured)]))


if __name__ == "__main__":
    main()
