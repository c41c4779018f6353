"""Pages of a ranking: each begins behind the last hit of the one before."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from index.documents.columns import Codes, Column, Mask
from index.documents.documents import Documents
from index.listing.requests import ListPlace, ListRequest


@dataclass(frozen=True, slots=True)
class RankedPage:
    """Chosen documents on a page, with the variants of each.

    `groups` counts all, and `place` is the last one's if others follow. `doubtful`
    masks the chosen ones (M,) whose errors leave open what is on the page.
    """

    first: Codes
    variants: Codes
    groups: int
    place: ListPlace | None
    doubtful: Mask


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
    by_score: bool

    @classmethod
    def of(
        cls,
        documents: Documents,
        request: ListRequest,
        chosen: Codes,
        scores: NDArray[np.float64],
    ) -> RankKeys:
        """Find the keys of chosen documents."""
        column = _find_column(documents, request)
        first = -scores
        if column is not None:
            places = column.sort_keys(len(documents), request.descending)
            first = places[chosen].astype(np.float64)
        return cls(chosen, first, scores, documents.places()[chosen], column is None)

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
        document, column = int(self.chosen[at]), _find_column(documents, request)
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
        first, score = self._find_start(documents, request, after)
        behind = self._mask_behind(first, score)
        equal = np.flatnonzero((self.first == first) & (self.scores == score))
        same = self._find(documents, after)
        if same is not None:
            behind[equal] = self.ties[equal] > self.ties[same]
        else:
            behind[equal] = [documents.ids[at] > after.id for at in self.chosen[equal]]
        return behind

    def mask_doubtful(
        self, documents: Documents, request: ListRequest, errors: NDArray[np.float64], page: Codes
    ) -> Mask:
        """Mark the documents (M,) that may be on a page, or tell where it begins.

        Scores are off by `errors` (M,) at most. Once none of those is off, the page is right.
        """
        worst, best = self._shift(-errors), self._shift(errors)
        mask: Mask = errors > 0
        if request.after is not None:
            first, score = best._find_start(documents, request, request.after)
            surely = (worst.first < first) | ((worst.first == first) & (worst.scores > score))
            mask &= ~surely
        if len(page) == request.limit:
            last = page[-1]
            mask &= ~best._mask_behind(worst.first[last], worst.scores[last])
        return mask

    def _shift(self, by: NDArray[np.float64]) -> RankKeys:
        """The keys with other scores."""
        first = self.first - by if self.by_score else self.first
        return replace(self, first=first, scores=self.scores + by)

    def _mask_behind(self, first: float, score: float) -> Mask:
        """Mark the documents (M,) with larger keys than this one."""
        behind: Mask = (self.first > first) | ((self.first == first) & (self.scores < score))
        return behind

    def _find(self, documents: Documents, after: ListPlace) -> int | None:
        """Find the number of a place's item; None if it is no longer as it was."""
        same = np.flatnonzero(documents.revisions[self.chosen] == after.revision)
        return int(same[0]) if len(same) else None

    def _find_start(
        self, documents: Documents, request: ListRequest, after: ListPlace
    ) -> tuple[float, float]:
        """Find the key behind which the page begins."""
        same = self._find(documents, after)
        if same is not None:
            return float(self.first[same]), float(self.scores[same])
        return self._former_key(documents, request, after), after.score

    def _former_key(self, documents: Documents, request: ListRequest, after: ListPlace) -> float:
        """The first key of an item that is no longer as it was."""
        column = _find_column(documents, request)
        if column is None:
            return -after.score
        return column.place_of(after.value, request.descending)


def _find_column(documents: Documents, request: ListRequest) -> Column | None:
    """Find the column that a list is sorted by; an item may have an empty key."""
    return None if request.sort is None else documents.columns.get(request.sort)
