"""qdrant-edge-py: multi-vectors with its MaxSim, a sum over the query's vectors.

In searches of sentences for a photo it computes another score than ours; its recall shows this.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import qdrant_edge as qdrant

from benchmarks.engines.engine import Unable, only_part
from benchmarks.index.bags import BagSource
from benchmarks.index.questions import summary
from models.text.queries import Query

FRAGMENTS, SUMMARY = "fragments", "summary"
BATCH = 256
CANDIDATES = 200
LINKS, BUILD_EF = 16, 100  # of HNSW: its own defaults


# A shard is opened once by a process: its folder, and how many engines search it.
_shards: dict[Path, tuple[qdrant.EdgeShard, int]] = {}


def load_shard(folder: Path) -> qdrant.EdgeShard:
    """A folder's shard."""
    shard, users = _shards.get(folder) or (qdrant.EdgeShard.load(str(folder)), 0)
    _shards[folder] = shard, users + 1
    return shard


def unload_shard(folder: Path) -> None:
    """One engine fewer searches a folder's shard."""
    shard, users = _shards.pop(folder)
    if users > 1:
        _shards[folder] = shard, users - 1
    else:
        shard.close()


class Qdrant:
    """A shard of one vector and a multi-vector a bag, without a graph."""

    name, store = "qdrant-edge, exact", "qdrant"
    links = 0  # of the graph over multi-vectors; none without it

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def needs(self, source: BagSource) -> int:  # noqa: ARG002 - the Protocol's
        """Vectors are mapped from files; an exact search reads them all."""
        return 2**28

    def build(self, source: BagSource, folder: Path) -> None:
        """Insert everything, then let it optimise its segments."""
        shard = qdrant.EdgeShard.create(str(folder), self.config(source.dimension))
        start = 0
        for block in source.blocks():
            singles = block.summaries(source.side)
            points = [
                qdrant.Point(id=start + row, vector={FRAGMENTS: block[row], SUMMARY: singles[row]})
                for row in range(len(block))
            ]
            for at in range(0, len(points), BATCH):
                shard.update(qdrant.UpdateOperation.upsert_points(points[at : at + BATCH]))
            start += len(block)
        shard.optimize()
        shard.flush()
        shard.close()

    def config(self, dimension: int) -> qdrant.EdgeConfig:
        """Both vectors with inner products; the multi-vectors with the engine's graph."""
        sums = qdrant.MultiVectorConfig(qdrant.MultiVectorComparator.MaxSim)
        graph = qdrant.HnswIndexConfig(
            self.links, BUILD_EF, full_scan_threshold=1, max_indexing_threads=self.threads
        )
        fragments = qdrant.EdgeVectorParams(
            size=dimension,
            distance=qdrant.Distance.Dot,
            multivector_config=sums,
            hnsw_config=graph,
        )
        summary_vector = qdrant.EdgeVectorParams(size=dimension, distance=qdrant.Distance.Dot)
        return qdrant.EdgeConfig(
            vectors={FRAGMENTS: fragments, SUMMARY: summary_vector},
            max_search_threads=self.threads,
        )

    def open(self, source: BagSource, folder: Path) -> None:
        """Load the shard."""
        self.source, self.folder = source, folder
        self.shard = load_shard(folder)

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """MaxSim of every bag."""
        params = qdrant.SearchParams(exact=True)
        return self.ask(qdrant.QueryRequest(limit, query=self.nearest(query), params=params))

    def nearest(self, query: Query) -> qdrant.Query:
        """A query of one part."""
        return qdrant.Query.Nearest(only_part(query), using=FRAGMENTS)

    def ask(self, request: qdrant.QueryRequest) -> list[int]:
        """The ids of a request's points."""
        return [point.id for point in self.shard.query(request)]

    def close(self) -> None:
        """Close the shard, unless another engine still searches it."""
        unload_shard(self.folder)


class QdrantGraph(Qdrant):
    """The engine with its HNSW graph over the multi-vectors."""

    name, store = "qdrant-edge, HNSW", "qdrant-hnsw"
    links = LINKS

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """MaxSim of the graph's candidates."""
        return self.ask(qdrant.QueryRequest(limit, query=self.nearest(query)))


class QdrantTwoStages(Qdrant):
    """Tessera's two stages in qdrant: candidates by one vector, then MaxSim."""

    name = "qdrant-edge, one vector, then exact"
    candidates = CANDIDATES

    def try_hard(self, effort: float) -> None:
        """Take so many candidates from now on."""
        self.candidates = round(effort)

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """MaxSim of the best by summary."""
        if self.source.side == "sentences":
            raise Unable("its MaxSim cannot sum over the stored side")
        by_summary = qdrant.Query.Nearest(summary(query, self.source.side), using=SUMMARY)
        prefetch = qdrant.Prefetch(limit=self.candidates, query=by_summary)
        request = qdrant.QueryRequest(limit, query=self.nearest(query), prefetches=[prefetch])
        return self.ask(request)
