"""Lists of photos by a key of their metadata, with counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from index.documents.columns import Mask
from index.documents.documents import Documents
from index.listing.listing import count_facets, find_page, locate, number_groups
from index.listing.requests import ListRequest
from index.photos.requests import PhotoCounts, PhotoPage
from index.search.index import Index
from index.search.requests import Answer, Request
from index.segments.rows import Numbers


class PhotoList:
    """All photos of a search, to be counted and listed.

    Those are all that pass its filter and have a probability of `least`. Without that they are all
    that pass, and that have any of its words if there are some.
    """

    def __init__(self, index: Index, search: Request) -> None:
        """Score every photo; errors are those of Index.best."""
        self._index, self._search = index, search
        self._rows = index.find_probable(search)
        self._documents = index.documents.current()
        self._words = search.words if search.least is None else None

    def count(self, request: ListRequest) -> PhotoCounts:
        """Count the items, and the values of the request's facets."""
        documents, rows = self._documents, self._rows
        with documents.lock:
            counted = self._mask()
            facets, count = count_facets(documents, request, counted)
            behind = max(documents.behind, rows.behind)
            groups = count if request.collapse else None
            damaged = rows.damaged.union(documents.damaged.values())
        total = int(np.count_nonzero(counted))
        return PhotoCounts(total, facets, rows.rows, behind, rows.coverage, damaged, groups)

    def count_variants(self, key: str, revisions: Sequence[int]) -> dict[int, int]:
        """Count the items with the value of a key of each of some items, by revision."""
        documents = self._documents
        with documents.lock:
            places, present = locate(documents.revisions, np.array(revisions, np.int64))
            numbers = number_groups(documents, key)
            sizes = np.bincount(numbers[self._mask()], minlength=int(numbers.max(initial=0)) + 1)
        counts = np.maximum(sizes[numbers[places]], 1)
        return {
            revisions[at]: int(count) for at, count in zip(present.tolist(), counts, strict=True)
        }

    def find_best(self, request: Request) -> Answer:
        """Find the best hits of a request, without its `least`, among all photos.

        They are looked for again in the index if some of them are gone meanwhile.
        """
        among = self._index.best_of(self._rows, replace(request, least=None))
        return self._index.best(request) if among is None else among

    def find_page(self, request: ListRequest) -> PhotoPage:
        """Find a page of items by the key `sort`, words and id."""
        documents, words = self._documents, self._words
        with documents.lock:
            chosen = np.flatnonzero(self._mask())
            scores = np.zeros(len(chosen))
            if words is not None:
                scores += words.scores_of(documents.revisions[chosen])
            page = find_page(documents, request, chosen, scores)
            listed = chosen[page.first].tolist()
            ids = tuple(documents.ids[document] for document in listed)
            revisions = documents.revisions[listed].tolist()
        damaged = set[str]()
        best = {}
        if self._search.least is not None:
            keys = self._rows.of_items(revisions)
            search = self._search
            best = self._index.explain("images", search.query, keys, damaged, search.words)
        hits = {hit.item: hit for hit in best.values()}
        named = dict(zip(ids, scores[page.first].tolist(), strict=True))
        variants = dict(zip(ids, page.variants.tolist(), strict=True))
        return PhotoPage(ids, hits, named, variants, page.place, frozenset(damaged))

    def _mask(self) -> Mask:
        """Mark the live documents (N,) of the answer."""
        documents = self._documents
        mask = _mask_items(documents, self._rows.items)
        if self._words is not None:
            mask &= _mask_items(documents, self._words.revisions)
        return mask & documents.live


def _mask_items(documents: Documents, revisions: Numbers) -> Mask:
    """Mark the documents (N,) with some sorted revisions."""
    mask = np.zeros(len(documents), np.bool_)
    mask[locate(documents.revisions, revisions)[0]] = True
    return mask
