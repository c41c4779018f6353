"""Work of a catalog in PostgreSQL and in SQLite, in turns: python -m benchmarks.index.databases.

Both keep what was acknowledged through a power cut. Pictures are not kept, as they are none of the
database's work, and bags are random, as large as the default matcher's. PostgreSQL is Debian's, on
this machine, through a socket, with its own settings; or the one at --database. Each round does the
same work in one and then in the other, and has a ratio; the medians are of rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks import machine
from benchmarks.index.editing_speed import MODEL, entry
from benchmarks.index.questions import of_sentence
from index.catalog import edits as editing
from index.catalog.catalog import Catalog
from index.catalog.edits import Change, ItemSelection
from index.database.storage import Storage
from index.items import Collection, Entry
from index.search.index import Index
from index.search.requests import Request
from index.segments import process as following
from models.text.queries import Query
from models.types import FragmentBag, Span
from tests.servers import server
from training.report import measurements

SINGLE = 100  # items that are put, patched, read and deleted one at a time, or waited for
WORDS = 10  # of a title
PAUSE = 0.02  # seconds between the puts of a writer while others search
PATIENCE = 60.0  # seconds until an item has to be found
STARTING = 15.0  # seconds until the follower's process has imported what it needs

Steps = Mapping[str, Callable[[Catalog, Collection], int]]
Taken = dict[str, float]  # milliseconds, for each thing


class Nowhere:
    """A picture store that keeps nothing, and misses nothing."""

    def __init__(self) -> None:
        self._notes: dict[str, bytes] = {}

    def put(self, pictures: Mapping[str, bytes]) -> None:
        """See Pictures."""

    def get(self, _name: str) -> bytes:
        """See Pictures."""
        return b""

    def missing(self, _names: Iterable[str]) -> set[str]:
        """See Pictures."""
        return set()

    def delete(self, names: Iterable[str]) -> None:
        """See Pictures."""

    def names(self) -> Iterator[str]:
        """See Pictures."""
        return iter(())

    def delete_partial(self, _older: float) -> int:
        """See Pictures."""
        return 0

    def read_note(self, name: str) -> bytes | None:
        """See Pictures."""
        return self._notes.get(name)

    def write_note(self, name: str, content: bytes, *, new: bool = False) -> bool:
        """See Pictures."""
        if new and name in self._notes:
            return False
        self._notes[name] = content
        return True

    def check(self) -> None:
        """See Pictures."""


@dataclass(frozen=True, slots=True)
class Place:
    """A database and a data folder."""

    name: str
    url: str
    folder: Path

    def open(self, *, shared: bool = False) -> Catalog:
        """The catalog there."""
        return Catalog(Storage(self.folder, database=self.url, shared=shared), Nowhere())

    def collection(self, catalog: Catalog, name: str) -> Collection:
        """A collection there, made if it is new."""
        return catalog.names.make(name, **MODEL)


def title(number: int) -> Entry:
    """A row of a table: a title without a photo, and what filters know of it."""
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


def batches(make: Callable[[int], Entry], count: int, size: int) -> list[list[Entry]]:
    """Entries, so many at a time."""
    return [[make(at + place) for place in range(size)] for at in range(0, count, size)]


def steps(rows: int) -> Steps:
    """What is done to an empty collection, in order; each gives of how many things it was."""
    titles, photos = batches(title, rows, 16), batches(entry, rows // 2, 256)
    ready = [title(number) for number in range(SINGLE)]
    ids = [f"{number:06}" for number in range(SINGLE)]
    red = {"colour": "colour 3", "price": {"lt": 60}}

    def put(parts: list[list[Entry]], catalog: Catalog, home: Collection) -> int:
        for part in parts:
            catalog.put_many(home, part)
        return sum(map(len, parts))

    def each(work: Callable[[Catalog, Collection, int], object]) -> Any:
        def run(catalog: Catalog, home: Collection) -> int:
            for number in range(SINGLE):
                work(catalog, home, number)
            return SINGLE

        return run

    def segments(catalog: Catalog, home: Collection) -> int:
        following.catch_up(catalog, catalog.storage.folder)
        return catalog.count(home)

    def delete(catalog: Catalog, home: Collection) -> int:
        return editing.delete(catalog, home, ItemSelection(ids=ids))

    change = Change({"seen": True})
    return {
        "titles, 16 a transaction": partial(put, titles),
        "photos, 256 a transaction": partial(put, photos),
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


def worked(places: list[Place], rows: int, rounds: int) -> Iterator[dict[str, Taken]]:
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


class Searched:
    """A collection that is searched while a process of its own writes to it, and one follows it.

    `index` asks the database before each search for what others have written, as a service with
    PostgreSQL does; `polling` only learns of it in the background.
    """

    def __init__(self, place: Place, rows: int) -> None:
        self._closing = ExitStack()
        catalogs = [place.open(shared=shared) for shared in (True, False)]
        for catalog in catalogs:
            self._closing.callback(catalog.close)
        home = place.collection(catalogs[0], "searched")
        for part in batches(entry, rows, 256):
            catalogs[0].put_many(home, part)
        follower = following.start(catalogs[0].storage)
        self._closing.callback(follower.kill)
        directory = place.folder / following.SEGMENTS
        self.index, self.polling = (Index(catalog, home, directory) for catalog in catalogs)
        for index in (self.index, self.polling):
            index.start()
            self._closing.callback(index.close)
        self.writer = self._closing.enter_context(writer(place))
        random = np.random.default_rng(0)
        self._queries = [
            of_sentence(random.normal(size=(8, 257)).astype(np.float32)) for _ in range(50)
        ]

    def close(self) -> None:
        """End the processes."""
        self._closing.close()

    def milliseconds(self) -> float:
        """The median of some searches."""
        taken = []
        for query in self._queries:
            begun = time.perf_counter()
            self.index.best(Request("images", query, limit=10))
            taken.append(1000 * (time.perf_counter() - begun))
        return median(taken)

    def while_written(self) -> float:
        """The same while the writer puts items."""
        self.ask(SINGLE)
        taken = self.milliseconds()
        self.told()
        return taken

    def lag(self) -> float:
        """Milliseconds from when a put has returned in the writer to when it is found."""
        self.ask(1)
        item = self.told()
        while item["id"] not in found(self.polling):
            assert time.monotonic() < item["at"] + PATIENCE, "an item was not found"
        return 1000 * (time.monotonic() - float(item["at"]))

    def ask(self, count: int) -> None:
        """Have the writer put some items."""
        assert self.writer.stdin is not None
        self.writer.stdin.write(f"{count}\n")
        self.writer.stdin.flush()

    def told(self) -> dict[str, Any]:
        """The last of them, and when it was put."""
        assert self.writer.stdout is not None
        item: dict[str, Any] = json.loads(self.writer.stdout.readline())
        return item


def marked(number: int) -> Entry:
    """A photo that scores more for `like_marked` than those that were put before it."""
    photo = entry(10**6 + number)
    bag = photo.images[0]
    bag.vectors[:] = number + 100.0
    return photo


def like_marked() -> Query:
    """A query that the newest marked photo answers best."""
    return of_sentence(np.ones((8, 257), np.float32))


def found(index: Index) -> list[str]:
    """The best items for `like_marked`."""
    return [hit.item for hit in index.best(Request("images", like_marked(), limit=1)).hits]


@contextmanager
def writer(place: Place) -> Iterator[subprocess.Popen[str]]:
    """A process that puts marked photos, as many as each line of its input says."""
    command = [sys.executable, "-m", "benchmarks.index.databases", "--write", place.name, place.url]
    with subprocess.Popen(  # noqa: S603 - our own command
        [*command, str(place.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def write(place: Place) -> None:
    """What the writer does."""
    number = 0
    with closing(place.open()) as catalog:
        home = place.collection(catalog, "searched")
        for line in sys.stdin:
            for _ in range(int(line)):
                number += 1
                item = marked(number)
                catalog.replace(home, item)
                at = time.monotonic()
                time.sleep(PAUSE)
            print(json.dumps({"id": item.id, "at": at}), flush=True)


def searched(places: list[Place], rows: int, rounds: int) -> Iterator[dict[str, Taken]]:
    """Milliseconds of searches and of waits for what another process wrote, by round."""
    with ExitStack() as opened:
        collections = {
            place.name: opened.enter_context(closing(Searched(place, rows))) for place in places
        }
        time.sleep(STARTING)
        for number in range(rounds + 1):
            taken: dict[str, Taken] = {}
            for place in places[:: 1 if number % 2 else -1]:
                searching = collections[place.name]
                lags = (searching.lag() for _ in range(5))  # after the searches
                for step, value in (
                    ("search, p50", searching.milliseconds()),
                    (
                        "search while another process puts 50 a second, p50",
                        searching.while_written(),
                    ),
                    ("from a put to a hit in another process", median(lags)),
                ):
                    taken.setdefault(step, {})[place.name] = value
            if number:
                yield taken


def summed_up(rounds: list[dict[str, Taken]]) -> dict[str, dict[str, Any]]:
    """For each step: the medians of both databases, and of the rounds' ratios."""
    numbers: dict[str, dict[str, Any]] = {}
    for step in rounds[0]:
        taken = [by_step[step] for by_step in rounds]
        ratios = [by_database["postgresql"] / by_database["sqlite"] for by_database in taken]
        medians = {name: median(by_database[name] for by_database in taken) for name in taken[0]}
        numbers[step] = {**medians, "ratio": median(ratios), "ratios": sorted(ratios)}
    return numbers


@contextmanager
def both(database: str) -> Iterator[list[Place]]:
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
        yield [Place(name, url, folder / name) for name, url in urls.items()]


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
        write(Place(name, url, Path(folder)))
        return
    with both(options.database) as places:
        numbers = summed_up(list(worked(places, options.rows, options.rounds)))
        numbers |= summed_up(list(searched(places, 4 * options.rows, options.rounds)))
    for step, taken in numbers.items():
        medians = [f"{taken[name]:.2f} ms" for name in ("sqlite", "postgresql")]
        print(f"{step}: {', '.join(medians)}, × {taken['ratio']:.2f}")
    about = {"measures": "databases", "rows": options.rows, "rounds": options.rounds}
    measured = about | {"machine": machine.described(1), "numbers": numbers}
    measurements.add(options.out, {"index-databases": measured})


if __name__ == "__main__":
    main()
