"""Lists of photos by a key of their metadata, with counts over all of them."""

from __future__ import annotations

import numpy as np

from index.documents.columns import Mask
from index.documents.documents import Documents
from index.listing.listing import count_facet, find_page, locate
from index.listing.requests import ListRequest
from index.photos.requests import PhotoCounts, PhotoPage
from index.search.index import Index
from index.search.probable import ProbableRows
from index.search.requests import Request


class PhotoList:
    """All photos that answer a search, to be counted and listed in any order.

    Those are all that pass its filter and have a probability of `least`, or, without that, all
    that pass.
    """

    def __init__(self, index: Index, search: Request) -> None:
        """Score every photo; ValueError for what Index.best refuses."""
        self._index, self._search = index, search
        self._rows = index.find_probable(search)
        self._documents = index.documents.current()

    def count(self, request: ListRequest) -> PhotoCounts:
        """Count the items, and the values of the request's facets."""
        documents, rows = self._documents, self._rows
        with documents.lock:
            counted = _mask_items(documents, rows)
            facets = tuple(count_facet(documents, facet, counted) for facet in request.facets)
            behind = max(documents.behind, rows.behind)
        total = int(np.count_nonzero(counted))
        return PhotoCounts(total, facets, rows.rows, behind, rows.coverage, rows.damaged)

    def find_page(self, request: ListRequest) -> PhotoPage:
        """Find a page of items in the order of the key `sort`, equal ones by id."""
        documents = self._documents
        with documents.lock:
            chosen = np.flatnonzero(_mask_items(documents, self._rows))
            page = find_page(documents, request, chosen, np.zeros(len(chosen)))
            listed = chosen[page.first].tolist()
            ids = tuple(documents.ids[document] for document in listed)
            revisions = documents.revisions[listed].tolist()
        damaged = set[str]()
        best = {}
        if self._search.least is not None:
            keys = self._rows.of_items(revisions)
            best = self._index.explain("images", self._search.query, keys, damaged)
        hits = {hit.item: hit for hit in best.values()}
        return PhotoPage(ids, hits, page.place, frozenset(damaged))


def _mask_items(documents: Documents, rows: ProbableRows) -> Mask:
    """Mark the documents (N,) that have some rows, and are still there."""
    mask = np.zeros(len(documents), np.bool_)
    mask[locate(documents.revisions, rows.items)[0]] = True
    return mask & documents.live
