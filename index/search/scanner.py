"""The scanner: possible best rows of a snapshot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from index.catalog.catalog import Catalog
from index.items import Collection
from index.search.contenders import SPARE, Contenders, ShardAnswer, likely_share
from index.search.filter_bitmaps import Filters
from index.search.probable import ProbableRows
from index.search.query import (
    QueryPart,
    SentenceRole,
    check_query,
    choose_calibration,
    general_width,
    need_calibration,
)
from index.search.requests import Request, WordGains
from index.search.rescorer import Rescorer
from index.search.scan import LIKELIEST, Scan, Scored, find_likeliest, keep_probable
from index.search.shortlist import Chosen, add_rows, choose, count_chosen, mask_rows
from index.search.sums import Measure, SumLengths
from index.segments.reader import SegmentChain
from index.segments.rows import Numbers, Side
from models.scores.calibration import Calibration, find_weak_line
from models.scores.scoring import score_named
from models.threads import Workers

SHARED = 512  # rows up to which another thread costs more time than it saves


class Scanner:
    """Chooses and scores the rows of one collection's snapshots; for many threads."""

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        calibration: Calibration | None,
        threads: int | None,
        device: str | None,
    ) -> None:
        self._collection, self._calibration = collection, calibration
        self._share = catalog.storage.buckets.share
        self._score = score_named(collection.score)
        self._workers = Workers(threads)
        self._rescorer = Rescorer(self._score, self._workers, device)
        if self._rescorer.device is not None:
            self._rescorer.device.prepare(collection.dimension)
        self._lengths = SumLengths()
        self._filters = Filters(catalog, collection)

    def prepare(self, request: Request) -> Request:
        """Check a request, and adapt its query to this matcher."""
        if request.least is not None:
            if request.per_photo is not None:
                raise ValueError(
                    "there are no probabilities to cut at: they are calibrated for whole photos, "
                    "and these are regions; leave min_probability out"
                )
            need_calibration(self._calibration, request.role)
        query = check_query(request.query, request.side, self._collection, self._calibration)
        groups = request.groups
        if groups is not None and groups.token != self._collection.token:
            groups = None  # of another collection's items
        words = self._scale_words(request)
        if query is request.query and words is request.words and groups is request.groups:
            return request
        return replace(request, query=query, words=words, groups=groups)

    def _scale_words(self, request: Request) -> WordGains | None:
        """The words of a request in its score.

        None for those of another collection's items.
        """
        words = request.words
        if words is None or words.token != self._collection.token or not len(words.revisions):
            return None
        scale = self._calibration.score_of_odds(request.query) if self._calibration else 1.0
        return replace(words, scale=scale)

    def find_contenders(
        self, request: Request, terms: Sequence[QueryPart], snapshot: SegmentChain
    ) -> ShardAnswer:
        """Find the possible best rows of a snapshot."""
        revisions = self.list_passing(request, snapshot)
        scored, exact = self.scan(request, terms, snapshot, revisions, count_best(request))
        candidates = sum(len(part.numbers) for part in scored)
        # Where rows were left out before, so can be what only the bound of the error would let in.
        share = np.float32(1 if exact else likely_share(request))
        calibration = choose_calibration(self._calibration, request.role)
        likeliest = find_likeliest(calibration, scored, request)
        if request.least is not None:
            needed = need_calibration(self._calibration, request.role)
            scored = [keep_probable(needed, segment, request, share) for segment in scored]
        return ShardAnswer(
            Contenders.of(scored, request, calibration, share),
            exact=exact,
            candidates=candidates,
            rows=count_rows(snapshot, request.side),
            revision=snapshot.revision,
            likeliest=likeliest,
        )

    def find_weak_line(self, request: Request, parts: Sequence[ShardAnswer]) -> float | None:
        """The probability below which a photo is a weak hit, if things are asked for."""
        if self._calibration is None or not request.query.of_things:
            return None
        likeliest = [np.empty(0, np.float32), *(part.likeliest for part in parts)]
        return find_weak_line(np.concatenate(likeliest))

    def find_passing(self, request: Request, snapshot: SegmentChain) -> ProbableRows:
        """List all photos behind a request's filter."""
        revisions = self.list_passing(request, snapshot)
        none = np.empty(0, np.int64)
        sides = [segment.sides[request.side] for segment in snapshot.segments]
        masks = [mask_rows(rows, revisions) for rows in sides]
        pairs = list(zip(sides, masks, strict=True))
        return ProbableRows(
            np.concatenate([none, *(rows.revisions[mask] for rows, mask in pairs)]),
            np.concatenate([none, *(rows.positions[mask] for rows, mask in pairs)]),
            rows=count_rows(snapshot, request.side),
            behind=snapshot.behind,
        )

    def list_passing(self, request: Request, snapshot: SegmentChain) -> Numbers | None:
        """List the revisions behind a request's filter; None for all."""
        if not request.where:
            return None
        return self._filters.matching(request.where, snapshot.revision, snapshot.histories)

    def scan(
        self,
        request: Request,
        terms: Sequence[QueryPart],
        snapshot: SegmentChain,
        revisions: Numbers | None,
        most: int | None = None,
    ) -> tuple[list[Scored], bool]:
        """Score rows that might be among the best.

        Also says whether no others could be.
        With `most`, only those of all rows that can be among as many best hits; without, those that
        can have a probability of the request's `least`.
        """
        score = None if self._needs_every_row(request) else self._score
        lengths = self._measure_for(request)
        scan = Scan(self._rescorer, request, terms, lengths)
        chosen, exact = choose(
            snapshot.segments,
            request,
            terms,
            revisions,
            score,
            self._workers,
            self._share,
            lengths,
            scan.total,
        )
        if request.words is not None and not exact:
            chosen = add_rows(chosen, snapshot.segments, request, revisions)
        if not chosen:
            return [], exact
        if exact and most is not None:
            device = self._rescorer.device
            scored = scan.score_on(device, chosen, most) if device is not None else None
            if scored is not None:
                return scored, exact
            chosen = scan.narrow(chosen, most)
        elif exact and request.least is not None and self._rescorer.device is None:
            chosen = scan.narrow_probable(chosen, need_calibration(self._calibration, request.role))
        few = count_chosen(chosen) < SHARED
        parts = chosen if few else divide(chosen, self._workers.threads)
        return self._workers.map(lambda pair: scan.score(*pair), parts, alone=few), exact

    def _needs_every_row(self, request: Request) -> bool:
        """Return whether no rows are left out by their summaries.

        Those of some scores say little of lone regions. A GPU scans photos in no time.
        """
        if request.per_photo is not None:
            return request.exact or not self._score.linear_alone
        return request.exact or self._rescorer.device is not None

    def _measure_for(self, request: Request) -> Measure | None:
        """The lengths of rows, where a text is compared with sentences."""
        if request.role is not SentenceRole.BOTH_ARE_SENTENCES:
            return None
        width = general_width(request.query)
        return lambda rows: self._lengths.of(rows, width)


def divide(chosen: Chosen, threads: int) -> Chosen:
    """Divide chosen rows into parts that threads share; whole segments stay whole."""
    every = count_chosen(chosen)
    parts: Chosen = []
    for rows, numbers in chosen:
        if not len(numbers):  # bounds have left them all out
            continue
        count = 1 if len(numbers) == len(rows) else math.ceil(threads * len(numbers) / every)
        parts += [(rows, part) for part in np.array_split(numbers, count)]
    return parts


def count_best(request: Request) -> int:
    """Count the best hits that an exact answer needs: where weak hits begin, many say."""
    page = request.limit + 1 + SPARE
    return max(page, LIKELIEST) if request.query.of_things else page


def count_rows(snapshot: SegmentChain, side: Side) -> int:
    """Count the rows of a side."""
    return sum(len(segment.sides[side]) for segment in snapshot.segments)
