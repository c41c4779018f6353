"""A shard's server: it follows and searches some buckets of every collection.

It runs in its own process, which may be killed at any time: its data is in the
database and, as a cache, in its folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

import numpy as np
import torch

from index.catalog.catalog import Catalog
from index.catalog.ownership import LOOK
from index.cluster.connections import pack, unpack
from index.database.storage import Buckets, Storage
from index.items import Collection
from index.search.contenders import ShardAnswer
from index.search.index import Index
from index.search.indexes import Indexes
from index.search.overview import Overview
from index.search.probable import ProbableRows
from index.search.requests import Request, Shortlist
from index.segments.reader import STEP
from index.segments.rows import SIDES, Numbers, Side
from models.scores.calibration import Calibration
from models.text.queries import Query
from models.types import WHOLE_FRAME, WHOLE_PHOTO, FragmentBag

FOLDER = "shards"  # the folder of all shards' folders, below the data folder


class ShardServer:
    """Answers for a shard's buckets. Safe for many threads.

    Creation cannot fail; the first call opens the database and maps published segments.
    After a failed call, the next one tries again.
    """

    def __init__(
        self,
        storage: Storage,
        fingerprint: str,
        calibration: Calibration | None,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        """`threads` are those of a search; None means one a core."""
        self._storage, self._fingerprint = storage, fingerprint
        self._calibration, self._device, self._threads = calibration, device, threads
        self._lock = Lock()
        self._indexes: Indexes | None = None
        self._tried = set[str]()  # collections by token

    def answer(self, question: bytes) -> bytes:
        """Call a method with arguments, packed as by index.cluster.connections."""
        method, arguments = unpack(question)
        return pack(getattr(self, method)(*arguments))

    def best(self, collection: Collection, request: Request, revision: int) -> ShardAnswer:
        """See index.search.index.Index.best_at."""
        return self._index(collection).best_at(request, revision)

    def promising(
        self,
        collection: Collection,
        side: Side,
        query: Query,
        count: int,
        revisions: Numbers | None,
    ) -> Shortlist:
        """See index.search.index.Index.shortlist."""
        return self._index(collection).shortlist(side, query, count, revisions)

    def probable(self, collection: Collection, request: Request) -> ProbableRows:
        """See index.search.index.Index.find_probable."""
        return self._index(collection).find_probable(request)

    def report(self, collection: Collection, revision: int) -> None:
        """Report a row that differs from the catalog, see SegmentReader.report."""
        self._index(collection).report(revision)

    def overview(self, collection: Collection) -> Overview:
        """Return an overview of the shard's part of a collection."""
        return self._index(collection).overview()

    def ready(self) -> bool:
        """Return whether the model's collections can all be searched by now.

        Searches each once, as the first search of a process takes long.
        """
        opened = self._open()
        served = [
            collection
            for collection in opened.catalog.names.all()
            if collection.fingerprint == self._fingerprint
        ]
        for collection in served:
            if collection.token not in self._tried:
                for side in SIDES:
                    opened.of(collection).best(_trial(collection, side))
                self._tried.add(collection.token)
        return all(opened.of(collection).behind <= STEP for collection in served)

    def close(self) -> None:
        """Close the indexes and the catalog."""
        with self._lock:
            if self._indexes is not None:
                self._indexes.close()
                self._indexes.catalog.close()
                self._indexes = None

    def _index(self, collection: Collection) -> Index:
        return self._open().of(collection)

    def _open(self) -> Indexes:
        with self._lock:
            if self._indexes is None:
                catalog = Catalog(self._storage, claim=LOOK)
                opened = Indexes(
                    catalog,
                    self._storage.folder,
                    self._calibration,
                    self._device,
                    threads=self._threads,
                )
                opened.follow()
                self._indexes = opened
            return self._indexes


def _trial(collection: Collection, side: Side) -> Request:
    """Make a search of a side for a photo of one fragment."""
    vectors = torch.ones(1, collection.dimension)
    return Request(side, Query.of(FragmentBag(vectors, (WHOLE_FRAME,), (WHOLE_PHOTO,))), limit=1)


def storage_of(storage: Storage, buckets: Buckets) -> Storage:
    """Return a shard's storage, with its own folder and buckets.

    Its database and pictures are the same.
    Shards with the same buckets find their segments again in any process.
    """
    return replace(
        storage,
        database=storage.database or f"sqlite:///{storage.folder.absolute() / 'catalog.sqlite'}",
        folder=storage.folder / FOLDER / f"{buckets.first}-{buckets.end}",
        pictures=storage.pictures or str(Path(storage.folder / "pictures").absolute()),
        shared=True,
        buckets=buckets,
    )


def together(parts: Sequence[Shortlist], coverage: float) -> Shortlist:
    """What the rows of several shards promise, as one."""
    return Shortlist(
        np.concatenate([np.empty(0, np.int64), *(part.revisions for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.positions for part in parts)]),
        np.concatenate([np.empty(0), *(part.probabilities for part in parts)]),
        np.concatenate([np.empty(0), *(part.errors for part in parts)]),
        asked=any(part.asked for part in parts),
        coverage=coverage,
    )
