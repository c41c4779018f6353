"""Choice of the rows to score: all, or the candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from index.codes import single
from index.distinct import find_distinct
from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.search.requests import FARTHEST, Request
from index.search.sums import Measure
from index.segments import candidates
from index.segments.candidates import Candidates
from index.segments.rows import Numbers, Rows, Side
from index.segments.segment import Segment
from models.scores.half_dots import HalfDots
from models.scores.kernels import Floats
from models.scores.scoring import Score
from models.threads import Workers

Chosen = list[tuple[Rows, Numbers]]

SHARED = 2**17  # rows up to which another thread costs more time than it saves
LEAST = 512  # rows of a part of a segment's that a thread refines
ASKED = 2  # times its share of promising rows that a segment is asked for, at first


@dataclass(frozen=True, slots=True)
class SummaryQuery:
    """A vector (D,) whose products with the summaries of a side rank rows like scores.

    With `lengths`, products divided by the lengths of summaries do so.
    """

    side: Side
    vector: Floats
    dots: HalfDots
    lengths: Measure | None = None

    @classmethod
    def of(cls, side: Side, vector: Floats, lengths: Measure | None = None) -> SummaryQuery:
        """Pack a vector (D,) for its products."""
        return cls(side, vector, HalfDots(vector[None]), lengths)

    def scan(self, rows: Rows, numbers: Numbers) -> Candidates:
        """Compute the products of some rows' summaries."""
        return self._divide(rows, candidates.multiply_summaries(rows, numbers, self.dots))

    def nearest(
        self,
        segment: Segment,
        count: int,
        mask: NDArray[np.bool_],
        passing: int,
        share: float,
        workers: Workers | None = None,
    ) -> Candidates:
        """Find a segment's most promising rows by codes, or all few of the passing.

        It has a share of all that pass. `workers` may look into its cells together.
        """
        rows, structure = segment.sides[self.side], segment.structures.get(self.side)
        alike = self.lengths is None or self.lengths(rows).alike
        if structure is None or passing <= candidates.SCANNED or not alike:
            return self.scan(rows, np.flatnonzero(mask))
        allowed = None if passing == len(rows) else mask
        looked_at = candidates.count_looked_at(len(rows), share)
        parts = math.ceil(share * workers.threads) if workers else 1
        map_parts = workers.map if workers else map
        nearest = structure.nearest(self.vector, count, allowed, looked_at, parts, map_parts)
        return self._divide(rows, nearest)

    @property
    def by_sums(self) -> bool:
        """Whether sentences are compared by the sums of their words."""
        return self.lengths is not None

    @property
    def counts_negated(self) -> bool:
        """Whether negated parts count in products already."""
        return self.by_sums

    def refine(self, segment: Segment, coarse: Candidates, workers: Workers | None) -> Candidates:
        """Replace codes' products by those of summaries; `workers` may do so together."""
        rows, numbers = segment.sides[self.side], np.sort(coarse.rows)
        if workers is None:
            return self.scan(rows, numbers)
        parts = np.array_split(numbers, min(workers.threads, math.ceil(len(numbers) / LEAST)))
        return Candidates.together(workers.map(partial(self.scan, rows), parts))

    def _divide(self, rows: Rows, listed: Candidates) -> Candidates:
        if self.lengths is None:
            return listed
        cosines = self.lengths(rows).cosines(listed.products, listed.rows)
        return replace(listed, products=cosines)


@dataclass(frozen=True, slots=True)
class PooledQuery:
    """A query whose scores with pooled rows rank rows like scores.

    Negated parts count in these scores, as they do in rows' own.
    """

    side: Side
    score: Callable[[Rows, Numbers], Floats]
    by_sums: ClassVar[bool] = False
    counts_negated: ClassVar[bool] = True

    def nearest(
        self,
        segment: Segment,
        _count: int,
        mask: NDArray[np.bool_],
        _passing: int,
        _share: float,
        _workers: Workers | None = None,
    ) -> Candidates:
        """Score a segment's pooled rows; infinite, without these."""
        rows, numbers = segment.sides[self.side], np.flatnonzero(mask)
        if rows.pooled is None:
            return Candidates(numbers, np.full(len(numbers), np.inf, np.float32))
        return Candidates(numbers, self.score(rows.pooled, numbers))

    def refine(self, _segment: Segment, coarse: Candidates, _workers: Workers | None) -> Candidates:
        """The same candidates: pooled rows have no coarser codes."""
        return coarse


def choose(
    segments: Sequence[Segment],
    request: Request,
    terms: Sequence[QueryPart],
    revisions: Numbers | None,
    score: Score | None,
    workers: Workers,
    share: float = 1.0,
    lengths: Measure | None = None,
    pooled: Callable[[Rows, Numbers], Floats] | None = None,
) -> tuple[Chosen, bool]:
    """Choose possible best rows; also says whether no others can be.

    Where `revisions` are given, no others pass; without a score every row that passes is chosen.
    Of a shard that holds a share of the items, as many as it has of those that the whole
    collection's best are among. `lengths` measures the rows of sentences that a text is compared
    with, and `pooled` scores pooled rows of photos.
    """
    passed = [mask_rows(segment.sides[request.side], revisions) for segment in segments]
    if score is not None:
        query = summary(request, terms, score, lengths) or _pool(request, score, pooled)
        chosen = (
            _choose_candidates(segments, passed, request, query, terms, score, workers, share)
            if query
            else None
        )
        if chosen is not None:
            return chosen, False
    return _not_empty(segments, request.side, map(number_rows, passed)), True


def _choose_candidates(
    segments: Sequence[Segment],
    passed: Sequence[NDArray[np.bool_]],
    request: Request,
    query: SummaryQuery | PooledQuery,
    terms: Sequence[QueryPart],
    score: Score,
    workers: Workers,
    share: float,
) -> Chosen | None:
    """Choose the rows with the most promising summaries; None for all."""
    passing = [int(np.count_nonzero(mask)) for mask in passed]
    rows = sum(passing)
    if rows <= candidates.SCANNED:
        return None
    sides = [segment.sides[request.side] for segment in segments]
    whole = round(rows / share)
    reach = request.seen + request.limit if request.least is None else FARTHEST
    negated = [term for term in terms if term.negated and not query.counts_negated]
    # Of a sentence, sums tell as much as its words.
    words = candidates.LONG if query.by_sums else _count_words(terms)
    most = candidates.count_candidates(whole, reach, words)
    structures = [segment.structures.get(request.side) for segment in segments]
    fine = candidates.are_fine(structures, passing)
    needed = candidates.count_of_shard(candidates.PER_HIT * reach, share)  # items
    together = candidates.rows_per_item(sides) if share < 1 else 1.0
    portion = partial(candidates.count_of_shard, share=share, together=together)  # of rows
    while rows > (count := portion(most)):
        refined = portion(candidates.count_by_codes(whole, most, fine=fine))
        wider = candidates.WIDER if negated else 1
        promising = find_promising(segments, query, wider * refined, passed, passing, workers)
        if negated:
            promising = candidates.best(promising, wider * count)
            pairs = zip(sides, promising, strict=True)
            promising = [_without(negated, rows, listed, score) for rows, listed in pairs]
        best = candidates.best(promising, count)
        chosen = _not_empty(segments, request.side, [listed.rows for listed in best])
        if count_chosen(chosen) == rows:
            return None
        if _hits(request, chosen) >= min(count_chosen(chosen), needed):
            return chosen
        most *= 2  # photos of the same items crowd the others out
    return None


def add_rows(
    chosen: Chosen, segments: Sequence[Segment], request: Request, revisions: Numbers | None
) -> Chosen:
    """Add the rows of items with words that are asked for, and that pass."""
    assert request.words is not None
    numbers = {id(rows): listed for rows, listed in chosen}
    none, every = np.empty(0, np.int64), list[Numbers]()
    for segment in segments:
        rows = segment.sides[request.side]
        named = np.flatnonzero(mask_rows(rows, request.words.revisions))
        if revisions is not None:
            named = named[np.isin(rows.revisions[named], revisions)]
        every.append(find_distinct(np.concatenate((numbers.get(id(rows), none), named))))
    return _not_empty(segments, request.side, every)


class AllNumbers:
    """The numbers of all rows, of which searches share one array.

    Nothing writes to it. It could be, or loops would be compiled once more.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers = np.empty(0, np.int64)

    def first(self, count: int) -> Numbers:
        """The first `count` numbers."""
        numbers = self._numbers  # another thread may put a longer array there
        if len(numbers) < count:
            numbers = np.arange(count)
            self._numbers = numbers
        return numbers[:count]


ALL_NUMBERS = AllNumbers()


def number_rows(mask: NDArray[np.bool_]) -> Numbers:
    """List the numbers of a mask's rows."""
    return ALL_NUMBERS.first(len(mask)) if mask.all() else np.flatnonzero(mask)


def mask_rows(rows: Rows, revisions: Numbers | None) -> NDArray[np.bool_]:
    """Mark the live rows (B,) with one of the sorted revisions."""
    if revisions is None or not len(rows):
        return rows.live
    first, last = int(rows.revisions[0]), int(rows.revisions[-1])
    covered = revisions[
        np.searchsorted(revisions, first) : np.searchsorted(revisions, last, "right")
    ]
    if last - first > 8 * len(rows) + 2**16:  # few rows are left of many revisions
        return rows.live & np.isin(rows.revisions, covered)
    mask = np.zeros(last - first + 1, np.bool_)
    mask[covered - first] = True
    return rows.live & mask[rows.revisions - first]


def _count_words(terms: Sequence[QueryPart]) -> int:
    return sum(len(term.vectors) for term in terms if not term.negated)


def count_chosen(chosen: Chosen) -> int:
    """Count chosen rows."""
    return sum(len(numbers) for _, numbers in chosen)


def _hits(request: Request, chosen: Chosen) -> int:
    """Count possible hits of rows: one for each item or group, or one or more for each row."""
    if request.side == "sentences" or request.per_photo is not None:
        return count_chosen(chosen)
    if request.groups is not None:
        revisions = [rows.revisions[numbers] for rows, numbers in chosen]
        return (
            len(find_distinct(request.number_hits(np.concatenate(revisions)))) if revisions else 0
        )
    # Numbers come in order, and so do their revisions.
    changes = (np.diff(rows.revisions[numbers]) for rows, numbers in chosen)
    return sum(1 + int(np.count_nonzero(change)) for change in changes)


def summary(
    request: Request, terms: Sequence[QueryPart], score: Score, lengths: Measure | None = None
) -> SummaryQuery | None:
    """The vector that ranks stored summaries like scores; None for all rows.

    Negated parts are left out of searches of photos: next to others they count only where a photo
    has them (`_without`).
    """
    if lengths is None and not score.ranked_by_summaries:
        return None
    asked = [term for term in terms if lengths is not None or not term.negated]
    start = np.zeros(1, np.int64)
    if request.role is SentenceRole.ROWS_ARE_SENTENCES:
        return SummaryQuery.of(request.side, score.image_summary(asked[0].vectors, start)[0])
    if not asked:
        return None
    if lengths is None:
        parts = [t.weight * score.sentence_summary(t.vectors, start)[0] for t in asked]
    else:
        parts = [t.weight * t.vectors[0] for t in asked]
    return SummaryQuery.of(request.side, np.sum(parts, axis=0, dtype=np.float32), lengths)


def _pool(
    request: Request, score: Score, pooled: Callable[[Rows, Numbers], Floats] | None
) -> PooledQuery | None:
    """The query of pooled rows of photos; None for all rows."""
    photos = request.side == "images" and request.role is SentenceRole.QUERY_IS_SENTENCE
    if pooled is None or not photos or not score.ranked_by_pooling:
        return None
    return PooledQuery(request.side, pooled)


def find_promising(
    segments: Sequence[Segment],
    query: SummaryQuery | PooledQuery,
    count: int,
    passed: Sequence[NDArray[np.bool_]],
    passing: Sequence[int],
    workers: Workers,
) -> list[Candidates]:
    """Find the most promising rows by codes, with their summaries' products."""
    alone = sum(len(mask) for mask in passed) < SHARED
    rows = sum(passing)
    shares = [number / rows for number in passing]
    asked = [min(count, math.ceil(ASKED * count * share)) for share in shares]

    together = None if alone else workers

    def by_codes(n: int) -> Candidates:
        return query.nearest(segments[n], asked[n], passed[n], passing[n], shares[n], together)

    def by_summaries(n: int) -> Candidates:
        large = 2 * len(best[n].rows) > count
        return query.refine(segments[n], best[n], together if large else None)

    numbers = range(len(segments))
    coarse = workers.map(by_codes, numbers, alone=alone)
    best = candidates.best(coarse, count)
    # A segment whose rows are all among the best may have more of them.
    more = [n for n in numbers if len(best[n].rows) >= asked[n] < min(count, passing[n])]
    if more:
        asked = [count] * len(segments)
        for number, whole in zip(more, workers.map(by_codes, more, alone=alone), strict=True):
            coarse[number] = whole
        best = candidates.best(coarse, count)
    return workers.map(by_summaries, numbers, alone=alone)


def _without(
    negated: Sequence[QueryPart], rows: Rows, promising: Candidates, score: Score
) -> Candidates:
    """Subtract the scores of negated parts, for photos of their summaries alone."""
    if not len(promising.rows):
        return promising
    vectors = single(rows.summaries[promising.rows])
    alone = np.arange(len(vectors) + 1)  # the offsets of bags of one fragment each
    parts = [
        query_parts.exact_rows(score, vectors, alone, term, SentenceRole.QUERY_IS_SENTENCE)
        for term in negated
    ]
    off = query_parts.totals(np.stack(parts), negated)
    return replace(promising, products=promising.products + off)


def _not_empty(segments: Sequence[Segment], side: Side, numbers: Iterable[Numbers]) -> Chosen:
    """Pair each segment's rows with their numbers, where there are any."""
    pairs = zip(segments, numbers, strict=True)
    return [(segment.sides[side], listed) for segment, listed in pairs if len(listed)]
