"""Searches of two checkouts in turns: python -m benchmarks.index.turns ../before.

    git worktree add ../before COMMIT
    python -m benchmarks.index.turns ../before --real .bench/real --work .bench/work

A process of each checkout opens the same store, which this checkout builds if it is missing, and
both answer the same queries one after the other. Prints medians of the processor's time and of the
clock, the median ratio of the other checkout to this one, and how many answers differ. With
--service, texts whose vectors are remembered are answered as by /search/image, with links, boxes
and JSON, without HTTP itself. Where the two write different files, --other-work has the other
checkout's stores, built there with its own code before. With --exact, every photo is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.engines.tessera import Tessera, TesseraExact
from benchmarks.index import questions
from benchmarks.index.bags import Real
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.race import TimeLimits, place, store
from models.text.queries import Query

WARM = 40  # queries that are not counted
READY = "ready"


Ask = Callable[[Any], list[Any]]


def answer(source: GrownCollection, asked: argparse.Namespace) -> None:
    """Answer queries by lines of their kinds and numbers."""
    open_part = open_service if asked.service else open_index
    search, queries = open_part(source, asked)
    print(READY, flush=True)
    for row in sys.stdin:
        kind, number = json.loads(row)
        query = queries[kind][number % len(queries[kind])]
        clock, spent = time.perf_counter(), time.thread_time()
        answered = search(query)
        spent, clock = time.thread_time() - spent, time.perf_counter() - clock
        print(json.dumps([1_000 * spent, 1_000 * clock, answered]), flush=True)


def open_index(
    source: GrownCollection, asked: argparse.Namespace
) -> tuple[Ask, dict[str, list[Query]]]:
    """Open the index, for embedded queries."""
    engine = TesseraExact() if asked.exact else Tessera()
    engine.open(source, place(engine, source, asked.work))
    queries = {kind: questions.read(source.real, kind, asked.queries) for kind in asked.kinds}
    return lambda query: [int(item) for item in engine.search(query, 10)], queries


def open_service(
    source: GrownCollection, asked: argparse.Namespace
) -> tuple[Ask, dict[str, list[str]]]:
    """Open a service's engine, for texts; answers are whole ones, as JSON."""
    from app.answers.photos import search_images
    from app.engine.engine import Engine
    from app.schemas.search import ImageSearch
    from app.settings import Settings

    folder = asked.work / f"{source.key}--service"
    settings = Settings(data=folder, captioner=None, region_captioner=None, grounder=None)
    engine = Engine.load(settings)
    engine.serve()

    def search(text: str) -> list[Any]:
        asked = ImageSearch.model_validate({"text": text, "limit": 10})
        return [search_images(engine, asked, None).model_dump_json(by_alias=True)]

    long = [text for text in source.real.texts if len(text.split()) == questions.LONG]
    short, _ = questions.phrases(source.real.texts[: questions.PARSED], WARM)
    return search, {"12 words": long[:WARM], "2 words": short[:WARM]}


@contextmanager
def answering(checkout: Path, work: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process with a checkout's code and stores, ready for queries."""
    paths = os.pathsep.join([str(checkout), str(checkout / "client")])
    command = [sys.executable, __file__, *sys.argv[1:], "--work", str(work), "--answer"]
    process = subprocess.Popen(  # noqa: S603 - this file, with our own arguments
        command,
        env=os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READY:
            raise SystemExit(f"{checkout} does not answer")
        yield process
    finally:
        process.kill()
        process.wait()


def ask(process: subprocess.Popen[str], kind: str, number: int) -> list[Any]:
    """Ask a query; return its milliseconds, of two kinds, and ids."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps([kind, number]) + "\n")
    process.stdin.flush()
    answered: list[Any] = json.loads(process.stdout.readline())
    return answered


def compare(processes: Sequence[subprocess.Popen[str]], kind: str, count: int) -> str:
    """Ask both processes the same queries; return a line about them."""
    times, differing = [], 0
    for number in range(count + WARM):
        turn = processes if number % 2 else processes[::-1]
        answers = [ask(process, kind, number) for process in turn]
        other, ours = answers if number % 2 else answers[::-1]
        times.append([other[:2], ours[:2]])
        differing += other[2] != ours[2]
    taken = np.array(times[WARM:])  # (queries, checkouts, ways to measure)
    medians, ratios = np.median(taken, axis=0), np.median(taken[:, 0] / taken[:, 1], axis=0)
    return (
        f"{kind}: processor {medians[0, 0]:.2f} and {medians[1, 0]:.2f} ms, ratio {ratios[0]:.2f}; "
        f"clock {medians[0, 1]:.2f} and {medians[1, 1]:.2f} ms, ratio {ratios[1]:.2f}; "
        f"{differing} answers differ"
    )


def build_service(source: GrownCollection, work: Path) -> None:
    """Store the collection for a service, with this checkout's code."""
    from benchmarks.index import stages

    stages.open_service(source, work).close()


def main() -> None:
    """Compare, or answer one of the two comparing processes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the folder of another checkout")
    add_places(parser)
    parser.add_argument("--other-work", type=Path, help="stores of the other checkout")
    parser.add_argument("--photos", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--kinds", nargs="+", default=["12 words", "2 words", "negated"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--service", action="store_true", help="whole answers to texts")
    parser.add_argument("--exact", action="store_true", help="no photo is left out")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    machine.use(asked.threads)
    source = GrownCollection(Real(asked.real), "images", asked.photos)
    if asked.answer:
        answer(source, asked)
        return
    if asked.service:
        build_service(source, asked.work)
        asked.kinds = [kind for kind in asked.kinds if kind != "negated"]
    else:
        store(Tessera(), source, asked.work, TimeLimits())
    checkout = Path(__file__).parents[2]
    with (
        answering(asked.other.resolve(), asked.other_work or asked.work) as other,
        answering(checkout, asked.work) as ours,
    ):
        for kind in asked.kinds:
            print(compare([other, ours], kind, asked.queries), flush=True)


if __name__ == "__main__":
    main()
