"""Filters: which revisions have the metadata that a search asks for, as compressed bitmaps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from index.catalog import Catalog
from index.facets import conditions
from index.items import Collection
from index.rows import Numbers, Rows

MOST = 1_024  # bitmaps that are kept: of a million revisions each has up to 125 KB


@dataclass(frozen=True, slots=True)
class Carriers:
    """The revisions up to one of them whose items carry a value. Some may be retired since."""

    until: int
    revisions: BitMap


class Filters:
    """Bitmaps of one collection's metadata values, kept and brought up to date when asked for.

    Safe for many threads; no search waits for another one's bitmap.
    """

    def __init__(self, catalog: Catalog, collection: Collection) -> None:
        self._catalog, self._collection = catalog, collection
        self._kept: OrderedDict[tuple[str, str], Carriers] = OrderedDict()
        self._lock = Lock()

    def matching(self, where: Mapping[str, Any], revision: int) -> Numbers:
        """The revisions, in order, whose items have any of each key's values.

        Complete up to a revision. Raises ValueError for what cannot be compared.
        """
        passing: BitMap | None = None
        for key, values in conditions(where):
            carriers = [self._carriers(key, value, revision).revisions for value in values]
            union = BitMap.union(*carriers) if carriers else BitMap()
            passing = union if passing is None else passing & union
        assert passing is not None, "a filter has conditions"
        return np.array(passing.to_array(), np.int64)

    def _carriers(self, key: str, value: str, revision: int) -> Carriers:
        with self._lock:
            kept = self._kept.get((key, value))
            if kept is not None:
                self._kept.move_to_end((key, value))
        if kept is not None and kept.until >= revision:
            return kept
        until, known = (kept.until, kept.revisions) if kept else (0, BitMap())
        with self._catalog.reading(self._collection) as view:
            new = view.carrying(key, value, until)
            fresh = Carriers(view.revision, known | BitMap(new.astype(np.uint32)))
        with self._lock:
            self._kept[key, value] = fresh
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return fresh


def passing(rows: Rows, revisions: Numbers | None) -> NDArray[np.bool_]:
    """Which rows (B,) are live and have one of some revisions, which come in order."""
    if revisions is None or not len(rows):
        return rows.live
    first, last = int(rows.revisions[0]), int(rows.revisions[-1])
    own = revisions[np.searchsorted(revisions, first) : np.searchsorted(revisions, last, "right")]
    if last - first > 8 * len(rows) + 2**16:  # few rows are left of many revisions
        return rows.live & np.isin(rows.revisions, own)
    there = np.zeros(last - first + 1, np.bool_)
    there[own - first] = True
    return rows.live & there[rows.revisions - first]
