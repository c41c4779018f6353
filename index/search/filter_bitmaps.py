"""Filters: the revisions that pass, as compressed bitmaps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from pyroaring import BitMap

from index.catalog.catalog import Catalog
from index.conditions import Condition, Either, Equals, Every, Not, Simple
from index.filters import parse
from index.items import Collection
from index.segments.rows import Numbers

MOST = 1_024  # bitmaps that are kept: of a million revisions each has up to 125 KB


@dataclass(frozen=True, slots=True)
class Carriers:
    """The revisions up to `until` with a condition, perhaps retired since."""

    until: int
    revisions: BitMap


class Cache(OrderedDict[Simple | None, Carriers]):
    """Carriers by condition, of one history, the last used one last."""


class Filters:
    """Bitmaps of conditions on a collection's metadata, updated when they are used.

    Safe for many threads; no search waits for another one's bitmap.
    """

    def __init__(self, catalog: Catalog, collection: Collection) -> None:
        self._catalog, self._collection = catalog, collection
        self._cache = Cache()
        self._history = 0
        self._lock = Lock()

    def matching(self, where: Mapping[str, Any], revision: int, history: int = 0) -> Numbers:
        """The sorted revisions of items that pass a filter.

        They are complete up to a revision.
        Of a history of the catalog (Snapshot.histories). Raises ValueError for what is no filter.
        """
        with self._lock:
            if history > self._history:
                # A search that still reads the history before has the cache of that.
                self._cache, self._history = Cache(), history
            cache = self._cache if history == self._history else Cache()
        return np.array(self._passing(parse(where), revision, cache).to_array(), np.int64)

    def _passing(self, condition: Condition, revision: int, cache: Cache) -> BitMap:
        match condition:
            case Every(parts):
                passed = [self._passing(part, revision, cache) for part in parts]
                if passed:
                    return BitMap.intersection(*passed)
                return self._carriers(None, revision, cache)
            case Either(parts):
                return BitMap.union(*(self._passing(part, revision, cache) for part in parts))
            case Not(part):
                every = self._carriers(None, revision, cache)
                return every - self._passing(part, revision, cache)
            case Equals(key, values):
                alone = (Equals(key, (value,)) for value in dict.fromkeys(values))
                carriers = [self._carriers(equality, revision, cache) for equality in alone]
                return BitMap.union(*carriers) if carriers else BitMap()
            case _:
                return self._carriers(condition, revision, cache)

    def _carriers(self, condition: Simple | None, revision: int, cache: Cache) -> BitMap:
        """The revisions with a condition on one key; all for None."""
        with self._lock:
            cached = cache.get(condition)
            if cached is not None:
                cache.move_to_end(condition)
        if cached is not None and cached.until >= revision:
            return cached.revisions
        until, revisions = (cached.until, cached.revisions) if cached else (0, BitMap())
        with self._catalog.reading(self._collection) as view:
            new = view.carrying(condition, until)
            fresh = Carriers(view.revision, revisions | BitMap(new.astype(np.uint32)))
        with self._lock:
            cache[condition] = fresh
            if len(cache) > MOST:
                cache.popitem(last=False)
        return fresh.revisions
