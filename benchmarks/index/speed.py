"""Speed of the index against others and during changes.

And its page.

    python -m benchmarks.index.speed embed flickr8k --features ../cache
    python -m benchmarks.index.speed search --sizes 10000 20000 100000 1000000
    python -m benchmarks.index.speed living --photos 20000
    python -m benchmarks.index.speed fidelity
    python -m benchmarks.index.speed report

Other engines: `uv pip install --group benchmarks`. Results are lines of --out; bags, stores and
true answers are kept in --work. Existing lines are not measured again: delete a line, or give
--again. Run it from the repository's folder.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.engines.engine import SINGLE
from benchmarks.index import fidelity, living, performance, questions, tradeoffs, truth
from benchmarks.index.bags import Real, Side, add_sentences, embed, lines
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.race import (
    ENGINES,
    TimeLimits,
    engine,
    measure_growth,
    measure_resident,
    open_engines,
    place,
    race,
    summarize,
)
from models import checkpoint, shipped
from training.data import readers as folders
from training.report import measurements
from training.runs.progress import silent

Options = argparse.Namespace
QUERIES = 200
RESIDENT = 20  # queries that fill an engine's memory


def embed_corpus(asked: Options) -> None:
    """Embed real photos and sentences, and queries."""
    matcher = checkpoint.load(asked.matcher).model.eval()
    corpus = folders.read(asked.data)
    real = embed(matcher, corpus, asked.splits, asked.real, asked.features, silent)
    if asked.text:
        add_sentences(real, matcher, lines(asked.text, real.texts), asked.sentences, silent)
    questions.make(real, matcher, QUERIES)
    for split in ("held", "other"):
        print(
            f"{split}: {len(real.images(split)):,} photos, {len(real.sentences(split)):,} sentences"
        )


def race_sizes(asked: Options) -> None:
    """Race the engines at every size, for both sides."""
    for side in asked.sides:
        for size in sorted(asked.sizes):
            race_collection(GrownCollection(Real(asked.real), side, size), asked)


def race_collection(source: GrownCollection, asked: Options) -> None:
    """Race the engines over one collection, and store each kind of query."""
    name = f"index-{source.side}-{source.count}"
    measured = {} if asked.again else measurements.read(asked.out).get(name, {})
    if (
        measured
        and {*measured["kinds"]} >= {*questions.KINDS[source.side]}
        and measured["resident"]
    ):
        print(f"{name} is there")
        return
    print(f"{source.count:,} {source.side}", flush=True)
    measured = {
        "measures": "search",
        "side": source.side,
        "bags": source.count,
        "source": source.key,
        "fragment_bytes": SINGLE * source.fragments * source.dimension,
        "machine": machine.describe(asked.threads),
        "kinds": measured.get("kinds", {}),
    }
    limits = TimeLimits(asked.build_seconds, asked.seconds)
    with open_engines(asked.engines, source, asked.work, asked.threads, limits) as opened:
        engines, built, measured["skipped"] = opened
        measured["built"] = {engine_name: asdict(cost) for engine_name, cost in built.items()}
        for kind in questions.KINDS[source.side]:
            if kind in measured["kinds"]:
                continue
            queries = questions.read(source.real, kind, asked.queries)
            best = truth.find(source, queries, asked.work)
            measured["kinds"][kind] = summarize(race(engines, queries, best, asked.seconds))
            print_race(kind, measured["kinds"][kind])
            save(asked.out, name, measured | {"resident": {}})
    measured["resident"] = {
        engine_name: memory_of(engine_name, source, asked) for engine_name in engines
    }
    save(asked.out, name, measured)


def print_race(kind: str, numbers: dict[str, Any]) -> None:
    """Print the numbers of a race."""
    for name, row in numbers.items():
        if "unable" in row:
            print(f"  {kind:9} {name:18} {row['unable']}", flush=True)
            continue
        print(
            f"  {kind:9} {name:18} median {row['median']:9.2f} ms  p95 {row['p95']:9.2f}  "
            f"p99 {row['p99']:9.2f}  ratio {row.get('ratio', float('nan')):8.2f}  "
            f"recall {row['recall']:.4f}  ({row['queries']})",
            flush=True,
        )


def memory_of(name: str, source: GrownCollection, asked: Options) -> dict[str, int]:
    """The memory of an engine in a process of its own."""
    arguments = [name, source.side, str(source.count), "--threads", str(asked.threads)]
    return measure_resident([*arguments, "--real", str(asked.real), "--work", str(asked.work)])


def print_memory(asked: Options) -> None:
    """Print a built engine's memory, opened and after some queries."""
    source = GrownCollection(Real(asked.real), asked.side, asked.bags)
    made = engine(asked.engine, asked.threads)
    queries = questions.read(source.real, questions.KINDS[source.side][0], RESIDENT)
    source.grower()  # its memory is not the engine's

    def work() -> None:
        made.open(source, place(made, source, asked.work))
        for query in queries:
            made.search(query, truth.TOP)

    print(json.dumps(measure_growth(work)))


def measure_living(asked: Options) -> None:
    """Measure imports, searches meanwhile, other processes and cold starts."""
    real = Real(asked.real)
    setting = living.Setting(real, asked.work, asked.photos, asked.seconds, asked.puts)
    stored = {} if asked.again else measurements.read(asked.out)
    measured = stored.get("index-living", {})
    if measured.get("photos") != asked.photos:
        measured = {"measures": "living", "photos": asked.photos, "numbers": {}}
    measured["machine"] = machine.describe(asked.threads)
    for name, measure in living.MEASUREMENTS.items():
        if name not in measured["numbers"] and name in (asked.only or living.MEASUREMENTS):
            measured["numbers"][name] = measure(setting)
            print(name, json.dumps(measured["numbers"][name]), flush=True)
            save(asked.out, "index-living", measured)


def write(asked: Options) -> None:
    """Store items in this process, while another searches."""
    living.write(
        living.Setting(Real(asked.real), asked.folder), asked.folder, asked.how, asked.number
    )


def compare(asked: Options) -> None:
    """Compare grown bags with real ones."""
    real = Real(asked.real)
    sides: dict[Side, dict[str, Any]] = {}
    for side, kinds in questions.KINDS.items():
        asking = questions.read(real, kinds[0], asked.queries)
        sides[side] = fidelity.measure(real, side, asking)
        for name, likeness in sides[side].items():
            print(side, name, json.dumps(likeness))
    save(asked.out, "index-fidelity", {"measures": "fidelity", "sides": sides})


def report(asked: Options) -> None:
    """Write the page and its picture."""
    stored = performance.read(asked.out)
    asked.picture.write_text(performance.picture(stored), "utf-8")
    relative = os.path.relpath(asked.picture, asked.page.parent)
    raced = [measured for measured in stored if measured["measures"] == "tradeoffs"]
    if raced:
        (asked.page.parent / tradeoffs.PICTURE).write_text(tradeoffs.picture(raced), "utf-8")
    asked.page.write_text(performance.page(stored, relative), "utf-8")
    print(f"{asked.page}, {asked.picture}")


def save(file: Path, name: str, measured: dict[str, Any]) -> None:
    """Store a measurement, with lists instead of arrays."""
    measurements.add(file, {name: json.loads(json.dumps(measured, default=np.ndarray.tolist))})


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    shared = argparse.ArgumentParser(add_help=False)
    add_places(shared)
    shared.add_argument("--out", type=Path, default=measurements.FILE)
    shared.add_argument("--threads", type=int, default=2)
    shared.add_argument("--again", action="store_true", help="measure what is there, too")
    shared.add_argument("--queries", type=int, default=QUERIES, help="of each kind")
    shared.add_argument("--seconds", type=float, default=60, help="of each engine, for a kind")
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: Callable[[Options], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[shared], help=run.__doc__)
        added.set_defaults(run=run)
        return added

    add_commands(command)
    return parser


def add_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the measurements, and two commands for subprocesses."""
    added = command("embed", embed_corpus)
    added.add_argument("data", type=Path)
    added.add_argument("--splits", nargs="+", default=["val", "train"], help="held-out one first")
    added.add_argument("--features", type=Path, default=Path(".bench/features"))
    added.add_argument("--matcher", type=Path, default=shipped.MATCHER)
    added.add_argument("--text", type=Path, help="further sentences, a line each, .txt.gz")
    added.add_argument("--sentences", type=int, default=100_000, help="with those of --text")
    added = command("search", race_sizes)
    added.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 100_000, 1_000_000])
    added.add_argument("--sides", nargs="+", default=["images", "sentences"])
    added.add_argument("--engines", nargs="+", default=[*ENGINES], choices=[*ENGINES])
    added.add_argument("--build-seconds", type=float, default=1800, help="skip what takes longer")
    added = command("living", measure_living)
    added.add_argument("--photos", type=int, default=20_000)
    added.add_argument("--puts", type=int, default=20)
    added.add_argument("--only", nargs="+", choices=[*living.MEASUREMENTS])
    command("fidelity", compare)
    added = command("report", report)
    added.add_argument("--page", type=Path, default=Path("docs/research/performance.md"))
    added.add_argument("--picture", type=Path, default=Path("docs/images/performance.svg"))
    added = command("resident", print_memory)
    added.add_argument("engine", choices=[*ENGINES])
    added.add_argument("side", choices=[*questions.KINDS])
    added.add_argument("bags", type=int)
    added = command("writer", write)
    added.add_argument("folder", type=Path)
    added.add_argument("how", choices=["stream", "marked"])
    added.add_argument("number", type=int)


def main() -> None:
    """Run one command."""
    asked = options().parse_args()
    machine.use(asked.threads)
    asked.run(asked)


if __name__ == "__main__":
    main()
