"""Pages of a ranking: each begins behind the last hit of the one before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.documents.columns import Codes, Mask
from index.documents.documents import Documents
from index.listing.requests import ListPlace, ListRequest


@dataclass(frozen=True, slots=True)
class RankedPage:
    """Chosen documents on a page, with the variants of each.

    `groups` counts all, and `place` is the last one's if others follow.
    """

    first: Codes
    variants: Codes
    groups: int
    place: ListPlace | None


@dataclass(frozen=True, slots=True)
class RankKeys:
    """The keys (M,) that order chosen documents: smaller ones come first.

    `first` is the place by the value that is sorted by, or the negative score. Equal ones are in
    the order of their scores, best first, and then of their ids.
    """

    chosen: Codes
    first: NDArray[np.float64]
    scores: NDArray[np.float64]
    ties: Codes

    @classmethod
    def of(
        cls,
        documents: Documents,
        request: ListRequest,
        chosen: Codes,
        scores: NDArray[np.float64],
    ) -> RankKeys:
        """Find the keys of chosen documents."""
        column = documents.columns.get(request.sort or "")
        first = -scores
        if column is not None:
            places = column.sort_keys(len(documents), request.descending)
            first = places[chosen].astype(np.float64)
        return cls(chosen, first, scores, documents.places()[chosen])

    def order(self, among: Codes, most: int | None = None) -> Codes:
        """Order some of the documents, best first: all, or `most` and their equals."""
        first = self.first[among]
        if most is not None and most < len(among):
            among = among[first <= np.partition(first, most - 1)[most - 1]]
        keys = self.ties[among], -self.scores[among], self.first[among]
        order: Codes = among[np.lexsort(keys)]
        return order

    def place(self, documents: Documents, request: ListRequest, at: int) -> ListPlace:
        """The place of one of the documents, for the page behind it."""
        document, column = int(self.chosen[at]), documents.columns.get(request.sort or "")
        value = () if column is None else column.value_at(int(self.first[at]), request.descending)
        return ListPlace(
            documents.ids[document],
            int(documents.revisions[document]),
            float(self.scores[at]),
            value,
            request.seen + request.limit,
        )

    def behind(self, documents: Documents, request: ListRequest) -> Mask:
        """Mark the documents (M,) behind the place where the request begins.

        If its item is as it was, what follows it now; else what has larger keys than it had.
        """
        after = request.after
        if after is None:
            return np.ones(len(self.chosen), np.bool_)
        same = np.flatnonzero(documents.revisions[self.chosen] == after.revision)
        if len(same):
            first, score = self.first[same[0]], self.scores[same[0]]
        else:
            first, score = self._former_key(documents, request, after), after.score
        behind: Mask = (self.first > first) | ((self.first == first) & (self.scores < score))
        equal = np.flatnonzero((self.first == first) & (self.scores == score))
        if len(same):
            behind[equal] = self.ties[equal] > self.ties[same[0]]
        else:
            behind[equal] = [documents.ids[at] > after.id for at in self.chosen[equal]]
        return behind

    def _former_key(self, documents: Documents, request: ListRequest, after: ListPlace) -> float:
        """The first key of an item that is no longer as it was."""
        column = documents.columns.get(request.sort or "")
        if column is None:
            return -after.score
        return column.place_of(after.value, request.descending)
