"""Scans: scores of rows from codes, after bounds from heads and their extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.search import query as query_parts
from index.search import regions
from index.search.gpu import Device
from index.search.query import QueryPart, SentenceRole
from index.search.requests import Request
from index.search.rescorer import Coded, Estimates, Rescorer
from index.search.shortlist import Chosen, count_chosen
from index.search.sums import Measure, estimate
from index.segments.heads import Extremes, Heads
from index.segments.rows import Numbers, Rows
from models.scores.calibration import Calibration
from models.scores.kernels import Floats

MANY = 2_048  # rows from which on bounds save more than they cost
HELPFUL = 0.5  # share of rows that extremes leave, up to which heads leave out more than they cost
PROMISING = 4  # times as many rows as are asked for say how high a score has to be


JOINED = QueryPart(np.empty((0, 0), np.float32), 1.0)  # all parts, as regions are scored


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows of a segment, and parts' scores (P, N) from codes.

    `total` (N,) is the weighted sum for the query's `terms`. `errors` (P, N) and `error` (N,) say
    how far each can be from the exact one. Where regions are searched, these are of a row's best
    one, with P = 1.
    """

    rows: Rows
    numbers: Numbers
    parts: Floats
    errors: Floats
    total: Floats
    error: Floats
    terms: Sequence[QueryPart]

    def only(self, mask: NDArray[np.bool_]) -> Scored:
        """Keep the rows of a mask (N,)."""
        return Scored(
            self.rows,
            self.numbers[mask],
            self.parts[:, mask],
            self.errors[:, mask],
            self.total[mask],
            self.error[mask],
            self.terms,
        )

    def reach(self, share: np.float32) -> Floats:
        """How far totals (N,) may be off where parts are off by a share of their errors.

        That is more than a share of `error` where a thing may be there or not.
        """
        return query_parts.total_errors(self.parts, share * self.errors, self.terms)


class Scan:
    """Scores rows of one collection for one request."""

    def __init__(
        self,
        rescorer: Rescorer,
        request: Request,
        terms: Sequence[QueryPart],
        lengths: Measure | None = None,
    ) -> None:
        """`lengths` measures the rows of sentences that a text is compared with."""
        self._rescorer, self._request, self._lengths = rescorer, request, lengths
        self._regions = request.per_photo is not None
        self._terms = regions.join_terms(terms, rescorer.score) if self._regions else terms
        self.coded = self._encode(None) if lengths is None else []

    def score(self, rows: Rows, numbers: Numbers, heads: Heads | Extremes | None = None) -> Scored:
        """Score rows from their codes, or from those of their `heads`."""
        return self._add_up(rows, numbers, self._estimate(rows, numbers, heads))

    def _add_up(self, rows: Rows, numbers: Numbers, estimates: Estimates) -> Scored:
        """Add up the scores of a query's parts; of regions, these have one for all."""
        terms = [JOINED] if self._regions else self._terms
        total = query_parts.totals(estimates.scores, terms)
        if self._request.words is not None:
            total += self._request.words.scores_of(rows.revisions[numbers])
        return Scored(
            rows,
            numbers,
            estimates.scores,
            estimates.errors,
            total,
            query_parts.total_errors(estimates.scores, estimates.errors, terms),
            terms,
        )

    def total(self, rows: Rows, numbers: Numbers) -> Floats:
        """Score rows from their codes, without errors: (N,)."""
        return self.score(rows, numbers).total

    def _estimate(self, rows: Rows, numbers: Numbers, heads: Heads | Extremes | None) -> Estimates:
        if self._lengths is not None:
            return Estimates(*estimate(self._terms, rows, numbers, self._lengths(rows)))
        query = self.coded if heads is None else self._encode(heads)
        if self._regions:
            assert not isinstance(heads, Extremes)
            return self._rescorer.best_regions(query, rows, numbers, heads)
        fewer = None if len(numbers) == len(rows) else numbers
        return self._rescorer.estimates(query, rows, fewer, heads)

    def narrow(self, chosen: Chosen, count: int) -> Chosen:
        """Keep the rows that can be among the best `count` hits.

        The extremes of a row's heads bound its score, and so do its heads. Rows that promise most
        are scored from their codes: what the `count`-th best item of them reaches at least is what
        the bound of every other row has to reach.
        """
        least = None
        for by_extremes in self._list_bounds():
            if not self._can_narrow(chosen, count):
                break
            bounds = self._bound(chosen, by_extremes=by_extremes)
            if least is None:
                least = self._find_least([bound for bound in bounds if bound], count)
            chosen = [
                (bound.rows, bound.numbers[~(bound.total + bound.error < least)])
                if bound
                else every
                for every, bound in zip(chosen, bounds, strict=True)
            ]
        return chosen

    def narrow_probable(self, chosen: Chosen, calibration: Calibration) -> Chosen:
        """Keep the rows that can have a probability of `least`, by the bounds of `narrow`."""
        every = count_chosen(chosen)
        for number, by_extremes in enumerate(self._list_bounds()):
            left = count_chosen(chosen)
            if left <= MANY or (number > 0 and left > HELPFUL * every):
                break
            bounds = self._bound(chosen, by_extremes=by_extremes)
            chosen = [
                (bound.rows, keep_probable(calibration, bound, self._request, ALL).numbers)
                if bound
                else whole
                for whole, bound in zip(chosen, bounds, strict=True)
            ]
        return chosen

    def _list_bounds(self) -> tuple[bool, ...]:
        """List the bounds of rows' scores: by extremes, then by heads; none for some searches."""
        request = self._request
        if request.side != "images" or request.role is not SentenceRole.QUERY_IS_SENTENCE:
            return ()
        return (True, False) if self._begins_with_extremes() else (False,)

    def _bound(self, chosen: Chosen, *, by_extremes: bool) -> list[Scored | None]:
        """Bound rows' scores by extremes or heads; None for a segment without."""
        return [
            None
            if rows.heads is None
            else self.score(rows, numbers, rows.heads.extremes if by_extremes else rows.heads)
            for rows, numbers in chosen
        ]

    def _begins_with_extremes(self) -> bool:
        """Return whether extremes bound scores, and well enough to come first.

        They do where maxima raise scores, and negated parts can only lower them. They do not say of
        enough rows that these come behind the page before.
        """
        raising = [term for term in self._terms if term.score_if_absent is None]
        return (
            self._rescorer.score.reduction == "maxima"
            and not self._regions
            and self._request.after is None
            and bool(raising)
            and not any(term.negated for term in raising)
        )

    def score_on(self, device: Device, chosen: Chosen, count: int) -> list[Scored] | None:
        """Score the rows that can be among the best `count` hits, on a device.

        None where others are needed, too, or the device does not score such rows.
        """
        if self._regions or not self._can_narrow(chosen, count):
            return None
        after, asked = self._request.after, count
        below = None if after is None else after.score
        segments = [
            (rows, None if len(numbers) == len(rows) else numbers, device.score(self.coded, rows))
            for rows, numbers in chosen
        ]
        while True:
            asked *= PROMISING  # or more, where photos of the same items crowd the others out
            promising = [
                scored.find_promising(numbers, asked, below) for _, numbers, scored in segments
            ]
            parts = [
                self._add_up(rows, part.numbers, Estimates(part.scores, part.errors))
                for (rows, _, _), part in zip(segments, promising, strict=True)
            ]
            reached = self._reach([self._least_behind(part) for part in parts])
            least = np.partition(reached, -count)[-count] if len(reached) >= count else -np.inf
            floor = max(part.floor for part in promising)
            if floor == -np.inf or least >= floor:
                return [part.only(~(part.total + part.error < least)) for part in parts]

    def _can_narrow(self, chosen: Chosen, count: int) -> bool:
        """Whether rows are many, and the best ones by their scores are all that is asked for."""
        request = self._request
        return (
            count_chosen(chosen) > max(MANY, PROMISING * count)
            and request.least is None
            and request.words is None
            and (request.groups is None or request.after is None)
            and self._lengths is None
        )

    def _find_least(self, bounds: Sequence[Scored], count: int) -> np.float32:
        """Find a score that the best `count` items reach at least."""
        if self._request.after is not None:
            bounds = [bound.only(self._behind(bound)) for bound in bounds]
        totals = np.concatenate([*(bound.total for bound in bounds), np.empty(0, np.float32)])
        rows = count
        while rows < len(totals):
            rows *= PROMISING  # or more, where photos of the same items crowd the others out
            least = np.partition(totals, -rows)[-rows] if rows < len(totals) else -np.inf
            promising = [bound.only(bound.total >= least) for bound in bounds]
            reached = self._reach(
                [self._least_behind(self.score(part.rows, part.numbers)) for part in promising]
            )
            if len(reached) >= count:
                return np.float32(np.partition(reached, -count)[-count])
        return np.float32(-np.inf)

    def _reach(self, parts: Sequence[tuple[Numbers, Floats]]) -> Floats:
        """The scores that hits reach at least, of rows' revisions and least scores."""
        revisions, least = (np.concatenate(column) for column in zip(*parts, strict=True))
        different, hits = np.unique(self._request.number_hits(revisions), return_inverse=True)
        reached = np.full(len(different), -np.inf, np.float32)
        np.maximum.at(reached, hits, least)
        return reached

    def _least_behind(self, scored: Scored) -> tuple[Numbers, Floats]:
        """The revisions and least scores, by codes, of rows of items behind the page."""
        behind = scored.only(self._behind(scored))
        return behind.rows.revisions[behind.numbers], behind.total - behind.error

    def _behind(self, scored: Scored) -> NDArray[np.bool_]:
        """Mark rows of items certainly behind the page before."""
        after = self._request.after
        if after is None:
            return np.ones(len(scored.total), np.bool_)
        before = scored.total + scored.error >= after.score
        revisions = scored.rows.revisions[scored.numbers]
        behind: NDArray[np.bool_] = ~np.isin(revisions, revisions[before])
        return behind

    def _encode(self, heads: Heads | Extremes | None) -> list[Coded]:
        """Encode the query's parts in 8 bits, for rows or heads."""
        return [
            Coded(
                term,
                self._rescorer.score,
                self._request.role,
                rows_have_base=self._request.side == "images",
                heads=heads,
            )
            for term in self._terms
        ]


ALL = np.float32(1)  # of the errors that scores may be off by
SLACK = 0.01  # by how much a probability may be too small as sums are kept in half precision


def probabilities(
    calibration: Calibration, scored: Scored, request: Request, share: np.float32
) -> NDArray[np.float64]:
    """The probabilities of rows with scores off by a share of errors."""
    higher = share * np.sign(request.query.weights, dtype=np.float32)[:, None] * scored.errors
    return query_parts.probabilities(
        calibration,
        request.query,
        request.role,
        scored.parts + higher,
        lambda: scored.rows.summaries[scored.numbers].astype(np.float32),
        scored.rows.sizes[scored.numbers],
        in_photos=request.side == "images",
        gains=gains_of(request, scored.rows.revisions[scored.numbers]),
    )


def gains_of(request: Request, revisions: Numbers) -> Floats | None:
    """The gains of items by their words, in log odds; None without words."""
    return None if request.words is None else request.words.of(revisions)


def keep_probable(
    calibration: Calibration, scored: Scored, request: Request, share: np.float32
) -> Scored:
    """Keep the rows with a possible probability of `least`.

    Their scores may be off by a share of their errors.
    """
    assert request.least is not None
    highest = probabilities(calibration, scored, request, share)
    return scored.only(highest >= request.least - SLACK)


def mark_surely_probable(
    calibration: Calibration | None, scored: Sequence[Scored], request: Request, share: np.float32
) -> NDArray[np.bool_]:
    """Mark the rows (N,) with a certain probability of `least`."""
    if request.least is None:
        return np.ones(sum(len(part.total) for part in scored), np.bool_)
    assert calibration is not None
    lowest = [probabilities(calibration, part, request, -share) for part in scored]
    surely: NDArray[np.bool_] = np.concatenate([*lowest, np.empty(0)]) >= request.least + SLACK
    return surely


LIKELIEST = 1_000  # rows that say where weak hits begin


def find_likeliest(
    calibration: Calibration | None, scored: Sequence[Scored], request: Request
) -> Floats:
    """The probabilities of the best photos for a text of things; none for other searches."""
    empty = np.empty(0, np.float32)
    if calibration is None or not request.query.of_things:
        return empty
    best = [
        probabilities(calibration, keep_best(part, LIKELIEST), request, np.float32(0))
        for part in scored
    ]
    every = np.concatenate([*best, empty]).astype(np.float32)
    return np.sort(every)[::-1][:LIKELIEST].copy()


def keep_best(scored: Scored, count: int) -> Scored:
    """Keep about so many rows with the highest scores."""
    if len(scored.total) <= count:
        return scored
    return scored.only(scored.total >= np.partition(scored.total, -count)[-count])
