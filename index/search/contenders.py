"""Contenders: possible best hits by their codes, and their exact scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from index.search.query import SentenceRole
from index.search.requests import Request
from index.search.scan import Scored, mark_surely_probable
from index.segments.rows import Numbers
from models.scores.calibration import Calibration
from models.scores.kernels import Floats

SPARE = 5  # rows whose exact scores are looked at beyond what is asked for

# Of the bound of an error: over twice the largest of 3,000 real ones. Of a stored sentence the
# errors of all fragments add up, and seldom have one sign.
LIKELY = {
    SentenceRole.QUERY_IS_SENTENCE: 0.25,
    SentenceRole.ROWS_ARE_SENTENCES: 0.08,
    SentenceRole.BOTH_ARE_SENTENCES: 0.25,
}
# A region's is that of one product, and no other word's cancels it out: nearly three times the
# largest of 30,000.
LIKELY_OF_REGIONS = 0.5


def likely_share(request: Request) -> float:
    """The share of errors that scores may be off by where rows were left out before."""
    return LIKELY[request.role] if request.per_photo is None else LIKELY_OF_REGIONS


@dataclass(frozen=True, slots=True)
class Contenders:
    """Rows by their items' revisions and their positions.

    The catalog has their bags.
    `total` is a row's score from its codes, off by `error` at most; its exact score may be as high
    as `highest`. All are arrays (N,). All photos of an item are in the same Contenders.
    """

    revisions: Numbers
    positions: Numbers
    total: Floats
    error: Floats
    highest: Floats

    def __len__(self) -> int:
        return len(self.total)

    @property
    def keys(self) -> list[tuple[int, int]]:
        """The revision and the position of each."""
        return list(zip(self.revisions.tolist(), self.positions.tolist(), strict=True))

    @classmethod
    def of(
        cls,
        scored: Sequence[Scored],
        request: Request,
        calibration: Calibration | None,
        share: np.float32,
    ) -> Contenders:
        """Keep rows that may come after the page before.

        Parts' scores are off by a share of errors at most.
        """
        numbers = np.empty(0, np.int64)
        total = np.concatenate([*(part.total for part in scored), np.empty(0, np.float32)])
        error = np.concatenate([*(part.error for part in scored), total[:0]])
        reach = np.concatenate([*(part.reach(share) for part in scored), total[:0]])
        every = cls(
            np.concatenate([*(part.rows.revisions[part.numbers] for part in scored), numbers]),
            np.concatenate([*(part.rows.positions[part.numbers] for part in scored), numbers]),
            total,
            error,
            total + reach,
        )
        if request.groups is None and (request.after is None or request.per_photo is not None):
            # Of a photo whose best region was shown, others may not have been.
            alone = request.after is not None and request.per_photo == 1
            return every.only(~every._mark_shown(request)) if alone else every
        surely = np.ones(len(total), np.bool_)
        if request.side == "images":
            # Of those that may not be probable enough, exact probabilities tell.
            surely = mark_surely_probable(calibration, scored, request, share)
        return every.open_page(request, surely)

    def open_page(self, request: Request, surely: NDArray[np.bool_]) -> Contenders:
        """Keep rows that may be hits behind the page before.

        `surely` (N,) marks those that are certainly probable enough.
        """
        if request.groups is not None:
            return self._lead_groups(request, surely)
        shown = self._mark_shown(request)
        if request.side == "images":
            shown = np.isin(self.revisions, self.revisions[shown & surely])
        return self.only(~shown)

    def _mark_shown(self, request: Request) -> NDArray[np.bool_]:
        """Mark rows with scores above those behind the page before."""
        if request.after is None:
            return np.zeros(len(self), np.bool_)
        shown: NDArray[np.bool_] = self.total - (self.highest - self.total) > request.after.score
        return shown

    def _lead_groups(self, request: Request, surely: NDArray[np.bool_]) -> Contenders:
        """Keep rows that may be the best of their group.

        Of items without a group only those that may come after the page before: which groups were
        on it, other shards may know better.
        """
        numbers = request.number_hits(self.revisions)
        different, groups = np.unique(numbers, return_inverse=True)
        reached = np.full(len(different), -np.inf, self.total.dtype)
        lowest = self.total - (self.highest - self.total)
        np.maximum.at(reached, groups[surely], lowest[surely])
        leading = self.highest >= reached[groups]
        if request.after is not None:
            leading &= (reached[groups] <= request.after.score) | (numbers < 0)
        return self.only(leading)

    @classmethod
    def together(cls, parts: Sequence[Contenders]) -> Contenders:
        """Join the contenders of several shards."""
        columns = (
            np.concatenate([getattr(part, column.name) for part in (NONE, *parts)])
            for column in fields(cls)
        )
        return cls(*columns)

    def only(self, chosen: NDArray[np.bool_] | Numbers) -> Contenders:
        """Keep the rows of a mask, or at some places."""
        return Contenders(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def among_best(self, request: Request) -> Contenders:
        """Keep the possible best rows, one more than asked, and a few.

        A row is left out if that many others certainly come before it. Which rows are probable
        enough is not certain, so for `least` all of them stay.
        """
        count = request.limit + 1
        if request.least is not None or len(self) <= count + SPARE:
            return self
        lowest = self.total - (self.highest - self.total)
        numbers = request.number_hits(self.revisions)
        if request.after is not None:  # what may have been shown is no hit for certain
            shown = numbers[self.highest >= request.after.score]
            lowest = np.where(np.isin(numbers, shown) | (numbers < 0), -np.inf, lowest)
        if request.side == "images" and request.per_photo is None:
            lowest = _by_hit(numbers, lowest)
        least = min(_highest(lowest, count), _highest(self.highest, count + SPARE))
        return self.only(self.highest >= least)


NONE = Contenders(*np.empty((2, 0), np.int64), *np.empty((3, 0), np.float32))


@dataclass(frozen=True, slots=True)
class ShardAnswer:
    """Possible best rows of a shard, as of a revision; see Answer.

    gone: whether some of what it held has gone since. That might have been among the hits, and its
    successor is newer than the revision. likeliest: the highest probabilities, for a text's photos.
    """

    contenders: Contenders
    exact: bool
    candidates: int
    rows: int
    revision: int
    gone: bool = False
    likeliest: Floats = field(default_factory=lambda: np.empty(0, np.float32))


def _by_hit(numbers: Numbers, values: Floats) -> Floats:
    """The highest value of each number."""
    different, hits = np.unique(numbers, return_inverse=True)
    highest = np.full(len(different), -np.inf, values.dtype)
    np.maximum.at(highest, hits, values)
    return highest


def _highest(values: Floats, count: int) -> float:
    """The value that so many reach; -inf where there are fewer."""
    return float(np.partition(values, -count)[-count]) if count <= len(values) else -np.inf
