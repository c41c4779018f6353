"""Searches and imports on a cluster, against one process.

And the cost of growth.

    python -m benchmarks.cluster search --real ../cache/bench --photos 20000
    python -m benchmarks.cluster delays --real ../cache/bench --photos 20000
    python -m benchmarks.cluster imports PHOTOS --limit 120
    python -m benchmarks.cluster report

The cluster's nodes, PostgreSQL and the actors all run on this machine, so several actors share its
processors. Results are lines of --out; `report` makes a page's tables and picture of them. An empty
--database is filled and kept for the next time, and so are segments in --work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import machine
from benchmarks.cluster import growth_model
from benchmarks.cluster.imports import database, measure_imports
from benchmarks.cluster.recovery import measure_recovery
from benchmarks.engines.tessera import BATCH, batches
from benchmarks.index import questions
from benchmarks.index.bags import Real
from benchmarks.index.growth import GrownCollection
from index.catalog.catalog import Catalog
from index.cluster.merged import ShardedIndex
from index.database.storage import Storage
from index.items import Collection
from index.search.index import Index
from index.search.indexes import Indexes
from index.search.requests import Request
from models.text.queries import Query
from tests.processes.clusters import actors, running
from tests.processes.waiting import eventually
from training.report import measurements

ACTORS = (1, 2, 4)
KINDS = (("candidates", False), ("exact scan", True))
QUERIES, ROUNDS = 100, 3
EXACT = 25  # queries of exact scans
WAIT = 900.0  # seconds


def fill_catalog(url: str, folder: Path, real: Real, count: int) -> tuple[Catalog, Collection]:
    """A catalog of `count` photos, real and grown, filled if it is empty."""
    catalog = Catalog(Storage(folder, database=url, shared=True))
    source = GrownCollection(real, "images", count)
    collection = catalog.names.make(
        "default", fingerprint="benchmark", dimension=source.dimension, score="sum_of_max"
    )
    if not catalog.count(collection):
        for part in batches(source, BATCH):
            catalog.put_many(collection, part)
    assert catalog.count(collection) == count, "the database has other photos"
    return catalog, collection


@contextmanager
def open_stored(options: argparse.Namespace) -> Iterator[tuple[Catalog, Collection, Path]]:
    """A catalog to search, and the folder of its segments."""
    with ExitStack() as open_:
        url = options.database or open_.enter_context(database())
        work = options.work or open_.enter_context(TemporaryDirectory(prefix="tessera-"))
        catalog, collection = fill_catalog(url, Path(work), Real(options.real), options.photos)
        open_.callback(catalog.close)
        yield catalog, collection, Path(work)


def time_search(search: Callable[[], Any]) -> float:
    """The seconds of a search."""
    began = time.perf_counter()
    search()
    return time.perf_counter() - began


def race(local: Index, sharded: ShardedIndex, requests: Sequence[Request]) -> dict[str, float]:
    """Medians in ms of both, and of their differences.

    Both answer the same requests.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for round_ in range(ROUNDS + 1):
        for request in requests:
            taken = [time_search(partial(index.best, request)) for index in (local, sharded)]
            if round_:  # the first one fills memory
                for each, duration in zip(times, taken, strict=True):
                    each.append(1000 * duration)
    alone, spread = (statistics.median(series) for series in times)
    difference = statistics.median(b - a for a, b in zip(*times, strict=True))
    return {"local": alone, "cluster": spread, "ratio": spread / alone, "difference": difference}


def agreement(index: Index, truth: Index, requests: Sequence[Request]) -> float:
    """The share of an exact scan's best hits in the index's best."""
    hits = relevant = 0
    for request in requests[:EXACT]:
        best = {hit.item for hit in truth.best(replace(request, exact=True)).hits}
        hits += len(best & {hit.item for hit in index.best(request).hits})
        relevant += len(best)
    return hits / relevant


def measure_empty(servers: Any) -> float:
    """The median in ms of an empty question to all actors."""
    ask = partial(servers.ask, "move", 0.0)
    return 1000 * statistics.median(time_search(ask) for _ in range(ROUNDS * QUERIES))


def processor_seconds(processes: Sequence[int]) -> float:
    """The processor time of processes, in steps of a tick."""
    used = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


def measure_processor(index: Index, requests: Sequence[Request], processes: Sequence[int]) -> float:
    """Processor time in ms of a search in all its processes.

    Load hardly changes it.
    """
    before = processor_seconds(processes)
    for request in requests:
        index.best(request)
    return 1000 * (processor_seconds(processes) - before) / len(requests)


def compare(
    local: Index, sharded: ShardedIndex, servers: Any, requests: Sequence[Request]
) -> dict[str, float]:
    """Times, processor time and recall of one process and of a cluster."""
    own_process = [os.getpid()]
    shards = [process for process, _ in actors(servers.group).values()]
    return race(local, sharded, requests) | {
        "local processor": measure_processor(local, requests, own_process),
        "cluster processor": measure_processor(sharded, requests, [*own_process, *shards]),
        "local recall": agreement(local, local, requests),
        "cluster recall": agreement(sharded, local, requests),
    }


def measure_searches(options: argparse.Namespace) -> None:
    """Race one process with 1, 2 and 4 actors; kill actors and a node."""
    from benchmarks.cluster.delays import FarCluster

    queries = questions.read(Real(options.real), "12 words", QUERIES)
    results: dict[str, Any] = {
        "machine": machine.describe(2),
        "photos": options.photos,
        "actors": {},
        "empty": {},
    }
    with open_stored(options) as (catalog, collection, work), running(2) as nodes:
        local = Indexes(catalog, work, None, "cpu")
        local.build()
        local.follow()
        of_one = local.of(collection)
        for count in options.actors:
            servers = start_cluster(FarCluster, nodes.address, catalog, collection, count)
            sharded = ShardedIndex(servers, catalog, collection, work)
            eventually(partial(is_published, sharded, options.photos), WAIT, every=1.0)
            results["actors"][count] = row = {}
            results["empty"][count] = measure_empty(servers)
            print(count, "an empty question:", results["empty"][count], "ms", flush=True)
            for kind, exact in KINDS:
                requests = make_requests(queries, exact=exact)
                row[kind] = compare(of_one, sharded, servers, requests)
                print(count, kind, {key: round(of, 2) for key, of in row[kind].items()}, flush=True)
            if count == max(ACTORS) and options.kill:
                results["recovery"] = measure_recovery(servers, sharded, requests[0], nodes)
                print(results["recovery"])
            servers.remove()
        local.close()
    measurements.add(options.out, {f"cluster-search-{options.photos}": results})


def measure_delays(options: argparse.Namespace) -> None:
    """Search by 1 and 2 actors with slower messages, as over a network."""
    from benchmarks.cluster.delays import FarCluster, measure

    queries = questions.read(Real(options.real), "12 words", QUERIES)
    results: dict[str, Any] = {"machine": machine.describe(2), "photos": options.photos}
    results["actors"] = {}
    with open_stored(options) as (catalog, collection, work), running(1) as nodes:
        for count in options.actors:
            servers = start_cluster(FarCluster, nodes.address, catalog, collection, count)
            sharded = ShardedIndex(servers, catalog, collection, work)
            eventually(partial(is_published, sharded, options.photos), WAIT, every=1.0)
            results["actors"][count] = row = {
                kind: measure(servers, sharded, make_requests(queries, exact=exact))
                for kind, exact in KINDS
            }
            print(count, row, flush=True)
            servers.remove()
    measurements.add(options.out, {"cluster-delays": results})


def start_cluster(
    kind: Any, address: str, catalog: Catalog, collection: Collection, count: int
) -> Any:
    """A ready cluster of `count` actors, each with a shard."""
    from index.cluster.cluster import ClusterLayout

    layout = ClusterLayout(shards=count, replicas=1, cpus=1.0, patience=60.0)
    servers = kind(address, catalog.storage, layout, collection.fingerprint, secret=catalog.secret)
    assert servers.wait(WAIT)
    return servers


def make_requests(queries: Sequence[Query], *, exact: bool) -> list[Request]:
    """Searches for the ten best photos.

    Fewer are exact, as they take long.
    """
    requests = [Request("images", query, limit=10, exact=exact) for query in queries]
    return requests[: EXACT if exact else None]


def is_published(sharded: ShardedIndex, photos: int) -> bool:
    """Return whether all shards have all but few photos in segments."""
    overview = sharded.overview()
    images = overview.images
    return overview.coverage == 1 and images.rows == photos and images.in_memory < 256


def report(options: argparse.Namespace) -> None:
    """Print the tables of docs/use/cluster.md, and draw its picture."""
    stored = measurements.read(options.out)
    searches = sorted(
        (row for name, row in stored.items() if name.startswith("cluster-search-")),
        key=itemgetter("photos"),
    )
    print(growth_model.tables(searches))
    growth_model.picture(searches, Path("docs/images/cluster-growth.svg"))
    if delays := stored.get("cluster-delays"):
        print(growth_model.delays_table(delays))
        growth_model.delays_picture(delays, Path("docs/images/cluster-delays.svg"))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=measurements.FILE)
    commands = parser.add_subparsers(required=True)
    for name, run, counts in (
        ("search", measure_searches, ACTORS),
        ("delays", measure_delays, ACTORS[:2]),
    ):
        search = commands.add_parser(name)
        search.add_argument("--real", type=Path, required=True, help="of index_speed embed")
        search.add_argument("--photos", type=int, default=20_000)
        search.add_argument("--database", default="", help="of PostgreSQL; one of its own if none")
        search.add_argument("--work", type=Path, help="of segments that are kept; if none, not")
        search.add_argument("--actors", type=int, nargs="+", default=[*counts])
        search.add_argument("--kill", action=argparse.BooleanOptionalAction, default=True)
        search.set_defaults(run=run)
    imports = commands.add_parser("imports")
    imports.add_argument("photos", type=Path)
    imports.add_argument("--limit", type=int, default=120)
    imports.add_argument("--rounds", type=int, default=1)
    imports.set_defaults(run=measure_imports)
    commands.add_parser("report").set_defaults(run=report)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
