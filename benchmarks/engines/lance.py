"""LanceDB: multi-vectors with their inner products, summed over the query's vectors.

In searches of sentences for a photo it computes another score than ours; its recall shows this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as arrow

from benchmarks.engines.engine import only_part
from benchmarks.index.bags import Bags, BagSource
from models.text.queries import Query

TABLE, COLUMN = "bags", "vectors"


class Lance:
    """A table without an index: every row is read."""

    name, store = "LanceDB, flat", "lance"

    def needs(self, source: BagSource) -> int:  # noqa: ARG002 - the Protocol's
        """It reads from files as it goes."""
        return 2**28

    def build(self, source: BagSource, folder: Path) -> None:
        """Insert everything."""
        lancedb.connect(folder).create_table(TABLE, rows(source), schema=schema(source.dimension))

    def open(self, source: BagSource, folder: Path) -> None:  # noqa: ARG002 - the Protocol's
        """Open the table."""
        self.table = lancedb.connect(folder).open_table(TABLE)

    def search(self, query: Query, limit: int) -> Sequence[int]:
        """The sum of the largest products of every row."""
        search = self.table.search(only_part(query), vector_column_name=COLUMN)
        rows = search.distance_type("dot").select(["id", "_distance"]).limit(limit).to_arrow()
        ids: list[int] = rows["id"].to_pylist()
        return ids

    def close(self) -> None:
        """Forget the table."""
        del self.table


def schema(dimension: int) -> arrow.Schema:
    """A number and a list of vectors a row."""
    vectors = arrow.list_(arrow.list_(arrow.float32(), dimension))
    return arrow.schema([("id", arrow.int64()), (COLUMN, vectors)])


def rows(source: BagSource) -> Iterator[arrow.RecordBatch]:
    """The bags as Arrow has them, block by block."""
    start = 0
    for block in source.blocks():
        yield batch(block, start)
        start += len(block)


def batch(block: Bags, start: int) -> arrow.RecordBatch:
    """One block's bags, numbered from `start`."""
    numbers = arrow.array(block.vectors.astype(np.float32).ravel())
    vectors = arrow.FixedSizeListArray.from_arrays(numbers, block.dimension)
    bags = arrow.ListArray.from_arrays(arrow.array(block.offsets.astype(np.int32)), vectors)
    ids = arrow.array(np.arange(start, start + len(block)))
    return arrow.RecordBatch.from_arrays([ids, bags], schema=schema(block.dimension))
