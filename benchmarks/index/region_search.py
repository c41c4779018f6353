"""Searches for regions of photos: times and recall.

    python -m benchmarks.index.speed embed flickr8k --features ../cache
    python -m benchmarks.index.region_search --photos 1000000

Photos of 20 fragments each are grown from real ones (benchmarks/index/growth.py), stored where need
be, and searched with held-out texts: for photos, for regions one and three a photo, and for regions
exactly. A store is kept in --work.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.engines.tessera import Opened, Tessera
from benchmarks.index import questions
from benchmarks.index.bags import Real
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.race import place
from index.search.audit import audit
from index.search.requests import Request

LIMIT = 10
WAYS: dict[str, dict[str, Any]] = {  # of searching: what differs from a search for photos
    "photos": {},
    "regions, one a photo": {"per_photo": 1},
    "regions, three a photo": {"per_photo": 3},
    "regions, exact": {"per_photo": 1, "exact": True},
}


def main() -> None:
    """Store missing photos, search, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--photos", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=50, help="of each kind")
    add_places(parser)
    options = parser.parse_args()
    source = GrownCollection(Real(options.real), "images", options.photos)
    made = Tessera()
    folder = place(made, source, options.work)
    complete = folder / "complete"
    if not complete.exists():
        made.build(source, folder)
        complete.touch()
    opened = Opened(folder, source.dimension, "images")
    opened.index.start()
    print(f"{source.count:,} photos, about {source.fragments - source.count:,} regions")
    for kind in questions.KINDS["images"]:
        queries = questions.read(source.real, kind, options.queries)
        report(opened, kind, [Request("images", query, limit=LIMIT) for query in queries])
    opened.close()


def report(opened: Opened, kind: str, requests: Sequence[Request]) -> None:
    """Print the times of searches, and the recall of candidates."""
    for way, options in WAYS.items():
        changed = [replace(request, **options) for request in requests]
        times = measure(opened, changed)
        late = sorted(times)[int(0.95 * len(times))]
        line = f"{kind}; {way}: p50 {median(times):.1f} ms, p95 {late:.1f} ms"
        if not options.get("exact"):
            audited = audit(opened.index, changed)
            line += f"; recall@{LIMIT} {audited.recall:.4f}, least {audited.worst:.2f}"
        print(line, flush=True)


def measure(opened: Opened, requests: Sequence[Request]) -> list[float]:
    """Measure milliseconds of searches and links, after a warm-up."""
    opened.index.best(requests[0])
    times = []
    for request in requests:
        began = perf_counter()
        for hit in opened.index.best(request).hits:
            assert hit.links
        times.append(1_000 * (perf_counter() - began))
    return times


if __name__ == "__main__":
    main()
