"""Photos by date and counted: times of searches, and right counts.

    python -m benchmarks.service.photo_lists flickr8k/images

Of the folder's first --photos photos, copies with a little noise in their vectors fill a collection
of --count items with made dates, cities and cameras. Counts are compared with pages through all
hits of an exact search from the same probability on.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import torch

from app.answers.photos import search_images
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.schemas.hits import ImageHits
from app.schemas.search import ImageSearch
from app.settings import Settings
from index.items import Entry
from index.search.requests import Hit, Request

TEXTS = ("a dog", "two dogs on a beach", "a child on a swing", "snow", "a man climbing a rock")
CITIES, CAMERAS = ("Lisbon", "Oslo", "Berlin", "Porto", "Ghent"), ("X100V", "iPhone 12", "D750")
NOISE = 0.02  # of a vector's length
PUT = 500  # items that are stored at a time
SORT, FACETS = {"key": "taken", "order": "desc"}, [{"key": "taken", "by": "month"}, "city"]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "exact from the weak line": {"exact": True},
    "sorted": {"sort": SORT},
    "sorted, two facets": {"sort": SORT, "facets": FACETS},
    "best first, two facets": {"facets": FACETS},
    "browsed, two facets": {"sort": SORT, "facets": FACETS, "text": None},
}


def main() -> None:
    """Fill a collection, search, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="JPEG files")
    parser.add_argument("--photos", type=int, default=200)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of the models")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine.load(
            Settings(data=Path(folder), captioner=None, region_captioner=None, grounder=None)
        )
        files = sorted(options.folder.glob("*.jpg"))[: options.photos]
        home = engine.open("default")
        drafts = [Draft(file.stem).with_photo(file.read_bytes()) for file in files]
        embedded = [engine.embed([draft])[0] for draft in drafts]
        entries = list(copy_entries(embedded, options.count))
        for start in range(0, len(entries), PUT):
            engine.catalog.put_many(home, entries[start : start + PUT])
        engine.serve()
        search(engine, "a dog", sort=SORT)  # reads the documents
        report_times(engine, options.rounds)
        report_counts(engine)
        engine.close()


def copy_entries(entries: Sequence[Entry], count: int) -> Iterator[Entry]:
    """Copy entries with noise in their vectors, and made metadata."""
    random, first = Random(7), datetime(2010, 1, 1)
    generator = torch.Generator().manual_seed(7)
    for number in range(count):
        entry = entries[number % len(entries)]
        taken = first + timedelta(seconds=random.randrange(10 * 365 * 86_400))
        metadata = {
            "taken": taken.isoformat(),
            "city": random.choice(CITIES),
            "camera": random.choice(CAMERAS),
        }
        bag = entry.images[0]
        noise = torch.randn(bag.vectors.shape, generator=generator)
        scale = NOISE * bag.vectors.norm(dim=1, keepdim=True) / bag.vectors.shape[1] ** 0.5
        moved = replace(bag, vectors=bag.vectors + scale * noise)
        yield replace(entry, id=f"{number:06}", images=(moved,), metadata=metadata)


def search(engine: Engine, asked: str, **fields: Any) -> ImageHits:
    """Search as the service does, without HTTP."""
    return search_images(engine, ImageSearch(**{"text": asked} | fields), None)


def report_times(engine: Engine, rounds: int) -> None:
    """Print the median time of each kind of search; kinds take turns."""
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for text in TEXTS:
            for kind, fields in KINDS.items():
                if kind.startswith("exact"):
                    fields = fields | {"min_probability": search(engine, text).weak_below}
                start = perf_counter()
                search(engine, text, **fields)
                times[kind].append(perf_counter() - start)
    for kind, taken in times.items():
        print(f"{kind:28} p50 {1000 * median(taken):7.1f} ms  most {1000 * max(taken):7.1f} ms")


def report_counts(engine: Engine) -> None:
    """Print counts, and the hits of an exact search."""
    index = engine.index("default")
    for text in TEXTS:
        counted = search(engine, text, facets=FACETS, limit=1)
        assert counted.min_probability is not None
        query = engine.models.query(text, of_photos=True)
        probable = Request("images", query, least=counted.min_probability)
        rescored = index.find_probable(probable).rescored
        walked = sum(1 for _ in walk(index.best, replace(probable, limit=1000, exact=True)))
        months = sum(period.count for period in counted.facets[0].dates)
        print(
            f"{text!r}: {counted.total} items from {counted.min_probability:.3f} on, walked "
            f"{walked}, in months {months}; bags told {rescored} rows apart"
        )


def walk(best: Any, request: Request) -> Iterator[Hit]:
    """Yield all hits of a request, page by page."""
    passed, last = 0, None
    while True:
        answer = best(request.behind(last, passed))
        yield from answer.hits
        if not answer.more or passed + len(answer.hits) >= 10_000:
            return
        passed, last = passed + len(answer.hits), answer.hits[-1]


if __name__ == "__main__":
    main()
