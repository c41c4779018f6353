"""Search: candidates by FAISS, then scores from codes, then exact scores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from index import page_faults
from index.catalog.catalog import Catalog
from index.documents.reader import DocumentReader
from index.documents.thesaurus import Synonyms
from index.items import Collection
from index.search.contenders import ShardAnswer, likely_share
from index.search.exact_scores import ExactScores
from index.search.overview import Overview
from index.search.probable import ROUNDING, ProbableRows, tell_apart
from index.search.query import (
    need_calibration,
    terms_of,
)
from index.search.requests import NONE, Answer, Hit, Request, Shortlist, WordGains
from index.search.scan import probabilities
from index.search.scanner import Scanner, count_rows
from index.segments.candidates import PER_HIT
from index.segments.reader import SegmentChain, SegmentReader
from index.segments.rows import Numbers, Side
from models.scores.calibration import Calibration
from models.scores.scoring import score_named
from models.text.queries import Query

TRIES = 4  # to find what was replaced during a search
RECENT = 200  # requests that are kept for an audit


class Index:
    """Search over a collection: the shard of one machine.

    Safe for many threads.
    Hits come by score, the highest first, then by item id and position. Until `start`, every
    search first takes in what any process has written; then a thread does so in the background,
    and a search waits for what this process has written alone.
    """

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        directory: Path,
        *,
        calibration: Calibration | None = None,
        threads: int | None = None,
        device: str | None = None,
        synonyms: Synonyms | None = None,
        report: Callable[[int], None] | None = None,
    ) -> None:
        """`report` gets the revisions of rows unlike the catalog's."""
        self._catalog, self._collection = catalog, collection
        self._calibration = calibration
        score = score_named(collection.score)
        self._scanner = Scanner(catalog, collection, calibration, threads, device)
        self.documents = DocumentReader(catalog, collection, synonyms)
        self._recent: deque[Request] = deque(maxlen=RECENT)
        # Named by the token, so that what another database left behind is never taken for ours.
        self._reader = SegmentReader(catalog, collection, directory / collection.token, score)
        # No method of this object: it would keep itself, and its segments, in memory.
        self.report = report or self._reader.report
        self._exact = ExactScores(catalog, collection, score, calibration, self.report)

    def start(self) -> None:
        """Follow the catalog in the background from now on."""
        self._reader.start()
        self.documents.start()

    def close(self) -> None:
        """Stop following."""
        self._reader.close()
        self.documents.close()

    def snapshot(self) -> SegmentChain:
        """The snapshot that a search would read now."""
        return self._reader.current()

    def overview(self) -> Overview:
        """Describe how the collection is searched."""
        return Overview.of(self.snapshot())

    @property
    def unpublished(self) -> int:
        """The number of unpublished changes of the catalog, at last look."""
        return self._reader.latest.unpublished

    @property
    def behind(self) -> int:
        """The number of changes of the catalog not searched, at last look."""
        return self._reader.latest.behind

    @property
    def compares_texts(self) -> bool:
        """Whether texts and sentences have probabilities."""
        return self._calibration is not None and self._calibration.compares_texts

    def recent(self) -> list[Request]:
        """The newest requests whose answers left rows out."""
        return list(self._recent)

    def best(self, request: Request) -> Answer:
        """Find the best hits for a request.

        Raises ValueError for a query without fragments, of another dimension or not finite, for a
        filter that cannot be compared, and for `least` without a calibration; ModelMismatch once
        another model has re-embedded the collection.
        """
        request = self._scanner.prepare(request)
        terms = terms_of(request.query, request.role)
        for _ in range(TRIES):
            faults = page_faults.count()
            snapshot = self._reader.current()
            contending = self._scanner.find_contenders(request, terms, snapshot)
            best = self._exact.best(contending.contenders, request, terms)
            if page_faults.count() != faults:  # zeros may have been read, and rows missed
                self._reader.publish()
            elif not best.vanished:
                break
            else:
                self._handle_vanished(best.vanished, snapshot)
        answer = Answer(
            tuple(best.hits[: request.limit]),
            exact=contending.exact,
            candidates=contending.candidates,
            rows=contending.rows,
            behind=snapshot.behind,
            more=len(best.hits) > request.limit,
            damaged=tuple(sorted(best.damaged)),
            weak_below=self._scanner.find_weak_line(request, [contending]),
        )
        if not answer.exact:
            self._recent.append(replace(request, groups=None) if request.groups else request)
        return answer

    def best_at(self, request: Request, revision: int) -> ShardAnswer:
        """Find possible best rows as of a revision; errors as `best`.

        Whoever asked has checked the request.
        """
        snapshot, gone = self._reader.at(revision)
        contending = self._scanner.find_contenders(
            request, terms_of(request.query, request.role), snapshot
        )
        return replace(contending, contenders=contending.contenders.among_best(request), gone=gone)

    def _handle_vanished(self, vanished: Sequence[int], snapshot: SegmentChain) -> None:
        """Read the changes behind missing rows; without any, report the rows."""
        # What a put replaced meanwhile is behind the snapshot, as what it was replaced by.
        self._reader.advance()
        latest = self._reader.latest
        if (latest.revision, latest.histories) == (snapshot.revision, snapshot.histories):
            for revision in set(vanished):
                self.report(revision)
            self._reader.publish()

    def shortlist(
        self, side: Side, query: Query, count: int, revisions: Numbers | None = None
    ) -> Shortlist:
        """Shortlist about `count` rows that promise most.

        They are of items with some sorted revisions.
        Their probabilities are those of codes, and as likely off as scores of `best` are.
        ValueError without a calibration.
        """
        request = self._scanner.prepare(Request(side, query, limit=max(count // PER_HIT, 1)))
        calibration = need_calibration(self._calibration, request.role)
        snapshot = self._reader.current()
        terms = terms_of(request.query, request.role)
        scored, exact = self._scanner.scan(request, terms, snapshot, revisions)
        if not scored:
            return replace(NONE, asked=True)
        share = 1.0 if exact else likely_share(request)
        lowest, by_codes, highest = (
            np.concatenate(
                [
                    probabilities(calibration, segment, request, np.float32(off))
                    for segment in scored
                ]
            )
            for off in (-share, 0.0, share)
        )
        return Shortlist(
            np.concatenate([segment.rows.revisions[segment.numbers] for segment in scored]),
            np.concatenate([segment.rows.positions[segment.numbers] for segment in scored]),
            by_codes,
            np.maximum(highest - by_codes, by_codes - lowest) + ROUNDING,
        )

    def find_probable(self, request: Request) -> ProbableRows:
        """Find all photos with a probability of `least`, exactly; without it, all that pass.

        Errors are those of `best`.
        """
        if request.least is None:
            return self._scanner.find_passing(request, self._reader.current())
        request = self._scanner.prepare(request)
        calibration = need_calibration(self._calibration, request.role)
        terms = terms_of(request.query, request.role)
        for _ in range(TRIES):
            faults, snapshot = page_faults.count(), self._reader.current()
            revisions = self._scanner.list_passing(request, snapshot)
            scored, _ = self._scanner.scan(replace(request, exact=True), terms, snapshot, revisions)
            rows = tell_apart(
                calibration, scored, request, lambda keys: self._exact.score(keys, request, terms)
            )
            if page_faults.count() == faults:  # else zeros may have been read
                break
            self._reader.publish()
        return replace(rows, rows=count_rows(snapshot, request.side), behind=snapshot.behind)

    def best_of(self, rows: ProbableRows, request: Request) -> Answer | None:
        """Find the best hits among rows of `find_probable`; None if some are gone meanwhile.

        They are probable enough, so the request has no `least`. Errors are those of `best`.
        """
        request = self._scanner.prepare(request)
        contenders = rows.contenders.open_page(request, np.ones(len(rows.total), np.bool_))
        best = self._exact.best(contenders, request, terms_of(request.query, request.role))
        if best.vanished:
            return None
        return Answer(
            tuple(best.hits[: request.limit]),
            exact=True,
            candidates=rows.rows,
            rows=rows.rows,
            behind=rows.behind,
            more=len(best.hits) > request.limit,
            coverage=rows.coverage,
            damaged=tuple(sorted(rows.damaged | best.damaged)),
        )

    def explain(
        self,
        side: Side,
        query: Query,
        rows: Sequence[tuple[int, int]],
        damaged: set[str] | None = None,
        words: WordGains | None = None,
    ) -> dict[int, Hit]:
        """Find the best hit of each revision among given rows.

        Rows are pairs of a revision and a position. `words` count as in `best`.
        The items of those that are not as they were stored are added to `damaged`.
        """
        request = self._scanner.prepare(Request(side, query, words=words))
        hits, refused = self._exact.score(rows, request, terms_of(request.query, request.role))
        if damaged is not None:
            damaged.update(refused.values())
        best: dict[int, Hit] = {}
        for (hit,) in hits.values():
            best[hit.revision] = min(best.get(hit.revision, hit), hit, key=Hit.by_probability)
        return best
