"""Work in PostgreSQL and SQLite: python -m benchmarks.databases.

Both keep acknowledged changes through a power cut. Pictures are left out, as they are not in the
database. Bags are random, as large as the default matcher's. PostgreSQL is Debian's, on this
machine, through a socket, with its own settings; or the one at --database. Each round does the same
work in both, in turns, and has a ratio; the medians are over rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks import machine
from benchmarks.databases.editing_speed import entry
from benchmarks.databases.searches import (
    SINGLE,
    DatabasePlace,
    Taken,
    batches,
    time_searches,
    write,
)
from index.catalog import edits as editing
from index.catalog.catalog import Catalog
from index.catalog.edits import Change, ItemSelection
from index.items import Collection, Entry
from index.segments import follower_process as following
from models.types import FragmentBag, Span
from tests.processes.servers import server
from training.report import measurements

WORDS = 10  # of a title

Steps = Mapping[str, Callable[[Catalog, Collection], int]]


def title(number: int) -> Entry:
    """A row of a table: a title without a photo, and its metadata."""
    words = " ".join(["word"] * WORDS)
    spans = tuple(Span(5 * place, 5 * place + 4) for place in range(WORDS))
    bag = FragmentBag(torch.randn(WORDS, 257), spans, ("word",) * WORDS)
    metadata = {
        "brand": f"brand {number % 50}",
        "colour": f"colour {number % 10}",
        "kind": f"kind {number % 20}",
        "price": 5 + number % 997 / 10,
        "even": number % 2 == 0,
    }
    return Entry(f"{number:06}", metadata, sentences=(words,), bags=(bag,))


def put_many(parts: list[list[Entry]], catalog: Catalog, home: Collection) -> int:
    """Put parts of entries; returns the count of entries."""
    for part in parts:
        catalog.put_many(home, part)
    return sum(map(len, parts))


def each(work: Callable[[Catalog, Collection, int], object]) -> Callable[..., int]:
    """A step of SINGLE pieces of work, by their numbers."""

    def run(catalog: Catalog, home: Collection) -> int:
        for number in range(SINGLE):
            work(catalog, home, number)
        return SINGLE

    return run


def steps(rows: int) -> Steps:
    """The steps of work on an empty collection; each returns its count."""
    titles, photos = batches(title, rows, 16), batches(entry, rows // 2, 256)
    ready = [title(number) for number in range(SINGLE)]
    ids = [f"{number:06}" for number in range(SINGLE)]
    red = {"colour": "colour 3", "price": {"lt": 60}}

    def segments(catalog: Catalog, home: Collection) -> int:
        following.catch_up(catalog, catalog.storage.folder)
        return catalog.count(home)

    def delete(catalog: Catalog, home: Collection) -> int:
        return editing.delete(catalog, home, ItemSelection(ids=ids))

    change = Change({"seen": True})
    return {
        "titles, 16 a transaction": partial(put_many, titles),
        "photos, 256 a transaction": partial(put_many, photos),
        "segments of all of them": segments,
        "put of one item": each(lambda catalog, home, at: catalog.replace(home, ready[at])[0]),
        "patch of one": each(
            lambda catalog, home, at: editing.patch(catalog, home, ids[at], change)
        ),
        "get of one": each(lambda catalog, home, at: catalog.get(home, ids[at])),
        "list of 100, with a filter": each(
            lambda catalog, home, _: catalog.list_items(home, limit=100, where=red)
        ),
        "deletion in bulk, each": delete,
    }


def time_steps(places: list[DatabasePlace], rows: int, rounds: int) -> Iterator[dict[str, Taken]]:
    """Milliseconds for each step and database, by round."""
    with ExitStack() as opened:
        catalogs = {place.name: opened.enter_context(closing(place.open())) for place in places}
        for number in range(rounds + 1):
            homes = {
                place.name: place.collection(catalogs[place.name], f"{number}") for place in places
            }
            taken: dict[str, Taken] = {}
            for step, work in steps(rows).items():
                for place in places[:: 1 if number % 2 else -1]:
                    begun = time.perf_counter()
                    count = work(catalogs[place.name], homes[place.name])
                    seconds = time.perf_counter() - begun
                    taken.setdefault(step, {})[place.name] = 1000 * seconds / count
            if number:  # the first round warms up
                yield taken


def summarize(rounds: list[dict[str, Taken]]) -> dict[str, dict[str, Any]]:
    """For each step: medians of both databases, and of the rounds' ratios."""
    numbers: dict[str, dict[str, Any]] = {}
    for step in rounds[0]:
        taken = [by_step[step] for by_step in rounds]
        ratios = [by_database["postgresql"] / by_database["sqlite"] for by_database in taken]
        medians = {name: median(by_database[name] for by_database in taken) for name in taken[0]}
        numbers[step] = {**medians, "ratio": median(ratios), "ratios": sorted(ratios)}
    return numbers


@contextmanager
def both(database: str) -> Iterator[list[DatabasePlace]]:
    """SQLite and PostgreSQL, both empty."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()))
        if not database:
            running = opened.enter_context(server(["max_connections=60"]))
            assert running is not None, "install PostgreSQL: Debian's package postgresql"
            database = opened.enter_context(running.database())
        urls = {"sqlite": f"sqlite:///{folder / 'catalog.sqlite'}", "postgresql": database}
        for name in urls:
            (folder / name).mkdir()
        yield [DatabasePlace(name, url, folder / name) for name, url in urls.items()]


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", default="", help="an empty one of PostgreSQL")
    parser.add_argument("--rows", type=int, default=1_024)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=measurements.FILE)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.write:
        name, url, folder = options.write
        write(DatabasePlace(name, url, Path(folder)))
        return
    with both(options.database) as places:
        numbers = summarize(list(time_steps(places, options.rows, options.rounds)))
        numbers |= summarize(list(time_searches(places, 4 * options.rows, options.rounds)))
    for step, taken in numbers.items():
        medians = [f"{taken[name]:.2f} ms" for name in ("sqlite", "postgresql")]
        print(f"{step}: {', '.join(medians)}, × {taken['ratio']:.2f}")
    about = {"measures": "databases", "rows": options.rows, "rounds": options.rounds}
    measured = about | {"machine": machine.describe(1), "numbers": numbers}
    measurements.add(options.out, {"index-databases": measured})


if __name__ == "__main__":
    main()
