"""Speed of patching metadata and of deleting items: python -m benchmarks.databases.editing_speed.

Photos of random bags, as large as the default matcher's: 20 regions of 257 numbers.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import torch

from index.catalog import edits as editing
from index.catalog.catalog import Catalog
from index.catalog.edits import Change, ItemSelection
from index.items import Collection, Entry, Picture
from models.types import Box, FragmentBag

PHOTOS, PATCHES, BATCH = 20_000, 500, 500
MODEL: dict[str, Any] = {"fingerprint": "random", "dimension": 257, "score": "sum_of_max"}
BOXES = tuple(Box(0.0, 0.0, (place + 1) / 20, 1.0) for place in range(20))
LABELS = tuple(f"region {place}" for place in range(20))


def entry(number: int) -> Entry:
    """A photo of random regions, as a put brings it."""
    bag = FragmentBag(torch.randn(20, 257), BOXES, LABELS)
    picture = Picture(b"jpeg", 4, 3, "0" * 64)
    return Entry(f"{number}", {"even": number % 2 == 0, "n": number}, (picture,), (bag,))


@contextmanager
def print_time(what: str, count: int) -> Iterator[None]:
    """Print the duration of some work, in all and for each part."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    print(f"{what}: {seconds:.2f} s, {1_000 * seconds / count:.2f} ms each")


def waits(work: Callable[[], object], other: Callable[[], object]) -> list[float]:
    """Durations of another change, repeated while some work runs."""
    thread = threading.Thread(target=work)
    thread.start()
    taken = []
    while thread.is_alive():
        start = time.perf_counter()
        other()
        taken.append(time.perf_counter() - start)
        time.sleep(0.02)
    thread.join()
    return sorted(taken)


def measure(catalog: Catalog, home: Collection) -> None:
    """Print the durations of edits in a collection, filled first."""
    with print_time(f"put of {PHOTOS:,} photos, {BATCH} a transaction", PHOTOS):
        for start in range(0, PHOTOS, BATCH):
            catalog.put_many(home, [entry(start + place) for place in range(BATCH)])
    ready = [entry(number) for number in range(PATCHES)]
    with print_time(f"{PATCHES} puts, one at a time", PATCHES):
        for photo in ready:
            catalog.replace(home, photo)
    with print_time(f"{PATCHES} patches, one at a time", PATCHES):
        for number in range(PATCHES):
            editing.patch(catalog, home, f"{number}", Change({"seen": True}))
    even = ItemSelection(where={"even": True})
    with print_time("dry run of a deletion", editing.count(catalog, home, even)):
        editing.count(catalog, home, even)
    odd = f"{PHOTOS - 1}"
    with print_time("deletion of half by a filter", PHOTOS // 2):
        taken = waits(
            lambda: editing.delete(catalog, home, even),
            lambda: editing.patch(catalog, home, odd, Change({"seen": True})),
        )
    middle, longest = taken[len(taken) // 2], taken[-1]
    print(f"{len(taken)} patches meanwhile: median {middle:.3f} s, longest {longest:.3f} s")
    with print_time("drop", 1):
        catalog.names.drop(home.name)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Catalog.in_folder(Path(folder))) as catalog,
    ):
        measure(catalog, catalog.names.make("default", **MODEL))
