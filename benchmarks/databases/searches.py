"""Searches in both databases, while another process writes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.databases.editing_speed import MODEL, entry
from benchmarks.index.questions import of_sentence
from index.catalog.catalog import Catalog
from index.database.storage import Storage
from index.items import Collection, Entry
from index.search.index import Index
from index.search.requests import Request
from index.segments import follower_process as following
from models.text.queries import Query

SINGLE = 100  # items of a step with single items, and of the writer's while others search
PAUSE = 0.02  # seconds between the puts of a writer while others search
PATIENCE = 60.0  # seconds until an item has to be found
STARTING = 15.0  # seconds until the follower's process has imported what it needs

Taken = dict[str, float]  # milliseconds, by database


class Nowhere:
    """A picture store without content, and without missing pictures."""

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
class DatabasePlace:
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


def batches(make: Callable[[int], Entry], count: int, size: int) -> list[list[Entry]]:
    """Entries, so many at a time."""
    return [[make(at + place) for place in range(size)] for at in range(0, count, size)]


class SearchedCollection:
    """A searched collection with a writer and a follower in other processes.

    `index` asks the database before each search for what others have written, as a service with
    PostgreSQL does; `polling` only learns of it in the background.
    """

    def __init__(self, place: DatabasePlace, rows: int) -> None:
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
        """The median of some searches while the writer puts items."""
        self.ask(SINGLE)
        taken = self.milliseconds()
        self.read_answer()
        return taken

    def lag(self) -> float:
        """Milliseconds from the writer's put to a hit."""
        self.ask(1)
        item = self.read_answer()
        while item["id"] not in find_best(self.polling):
            assert time.monotonic() < item["at"] + PATIENCE, "an item was not found"
        return 1000 * (time.monotonic() - float(item["at"]))

    def ask(self, count: int) -> None:
        """Have the writer put some items."""
        assert self.writer.stdin is not None
        self.writer.stdin.write(f"{count}\n")
        self.writer.stdin.flush()

    def read_answer(self) -> dict[str, Any]:
        """The last of them, and when it was put."""
        assert self.writer.stdout is not None
        item: dict[str, Any] = json.loads(self.writer.stdout.readline())
        return item


def make_marked(number: int) -> Entry:
    """A photo with a higher score for `like_marked` than earlier ones."""
    photo = entry(10**6 + number)
    bag = photo.images[0]
    bag.vectors[:] = number + 100.0
    return photo


def like_marked() -> Query:
    """A query for the newest marked photo."""
    return of_sentence(np.ones((8, 257), np.float32))


def find_best(index: Index) -> list[str]:
    """The best items for `like_marked`."""
    return [hit.item for hit in index.best(Request("images", like_marked(), limit=1)).hits]


@contextmanager
def writer(place: DatabasePlace) -> Iterator[subprocess.Popen[str]]:
    """A process to put marked photos.

    Each line of its input is a count.
    """
    command = [sys.executable, "-m", "benchmarks.databases", "--write", place.name, place.url]
    with subprocess.Popen(  # noqa: S603 - our own command
        [*command, str(place.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def write(place: DatabasePlace) -> None:
    """Run the writer's loop."""
    number = 0
    with closing(place.open()) as catalog:
        home = place.collection(catalog, "searched")
        for line in sys.stdin:
            for _ in range(int(line)):
                number += 1
                item = make_marked(number)
                catalog.replace(home, item)
                at = time.monotonic()
                time.sleep(PAUSE)
            print(json.dumps({"id": item.id, "at": at}), flush=True)


def time_searches(
    places: list[DatabasePlace], rows: int, rounds: int
) -> Iterator[dict[str, Taken]]:
    """Milliseconds of searches and of waits for another process's writes, by round."""
    with ExitStack() as opened:
        collections = {
            place.name: opened.enter_context(closing(SearchedCollection(place, rows)))
            for place in places
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
