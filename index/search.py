"""Search: candidates by FAISS, their scores from codes, and the exact scores of the best."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from index import ranking, rescorer
from index.candidates import PER_HIT
from index.catalog import Catalog
from index.choice import Chosen, choose
from index.document_reader import DocumentReader
from index.filters import Filters
from index.items import Collection
from index.lookup import Stored
from index.overview import Overview
from index.promising import NONE, Promising
from index.ranking import Key
from index.requests import Answer, Hit, Place, Request, ShardAnswer
from index.rescorer import Rescorer, Role, Term
from index.rows import Numbers, Side
from index.scan import Scan, Scored
from index.snapshot import Reader, Snapshot
from index.wording import Synonyms
from models import alignment
from models.calibration import Calibration
from models.queries import Query
from models.scoring import Floats, score_named
from models.types import FragmentBag

SPARE = 5  # rows whose exact scores are looked at beyond what is asked for
# Of the bound of an error: over twice the largest of 3,000 real ones. Of a stored sentence the
# errors of all fragments add up, and seldom have one sign.
LIKELY = {Role.QUERY_IS_SENTENCE: 0.25, Role.ROWS_ARE_SENTENCES: 0.08}
TRIES = 4  # to find what was replaced during a search
RECENT = 200  # requests that are kept for an audit
SLACK = 0.01  # by how much a probability may be too small as sums are kept in half precision


class Index:
    """Search over a collection: the shard of one machine. Safe for many threads.

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
    ) -> None:
        self._catalog, self._collection = catalog, collection
        self._calibration = calibration
        self._score = score_named(collection.score)
        self._rescorer = Rescorer(self._score, threads, device)
        self._filters = Filters(catalog, collection)
        self.documents = DocumentReader(catalog, collection, synonyms)
        self._recent: deque[Request] = deque(maxlen=RECENT)
        # Named by the token, so that what another database left behind is never taken for ours.
        self._reader = Reader(catalog, collection, directory / collection.token, self._score)

    def start(self) -> None:
        """Follow the catalog in the background from now on."""
        self._reader.start()
        self.documents.start()

    def close(self) -> None:
        """Stop following."""
        self._reader.close()
        self.documents.close()

    def snapshot(self) -> Snapshot:
        """What a search would look at now."""
        return self._reader.current()

    def overview(self) -> Overview:
        """How the collection is searched."""
        return Overview.of(self.snapshot())

    @property
    def unpublished(self) -> int:
        """How many changes of the catalog no published segment has, as of the last look."""
        return self._reader.latest.unpublished

    @property
    def behind(self) -> int:
        """How many changes of the catalog are not searched, as of the last look."""
        return self._reader.latest.behind

    def recent(self) -> list[Request]:
        """The newest requests whose answers left rows out."""
        return list(self._recent)

    def best(self, request: Request) -> Answer:
        """The best hits for a request.

        Raises ValueError for a query without fragments, of another dimension or not finite, for a
        filter that cannot be compared, and for `least` without a calibration; ModelMismatch once
        another model has re-embedded the collection.
        """
        request = self._prepared(request)
        for _ in range(TRIES):
            snapshot = self._reader.current()
            found = self._found(request, snapshot)
            if not found.vanished:
                break
            # What a put replaced meanwhile is behind the snapshot, as what it was replaced by.
            self._reader.advance()
            if self._reader.latest.revision == snapshot.revision:
                break
        answer = Answer(
            self._hits(found.ranked, request),
            exact=found.exact,
            candidates=found.candidates,
            rows=found.rows,
            behind=snapshot.behind,
            more=found.more,
        )
        self._note(request, answer)
        return answer

    def best_at(self, request: Request, revision: int) -> ShardAnswer:
        """The best rows of what was there at a revision; errors are those of `best`."""
        request = self._prepared(request)
        snapshot, gone = self._reader.at(revision)
        found = self._found(request, snapshot)
        return ShardAnswer(
            tuple(Place(one.key, one.revision, one.probability) for one in found.ranked),
            exact=found.exact,
            candidates=found.candidates,
            rows=found.rows,
            more=found.more,
            revision=snapshot.revision,
            gone=gone or found.vanished,
        )

    def _prepared(self, request: Request) -> Request:
        """The request, checked, with its query as this matcher asks it."""
        if request.least is not None:
            self._check_calibrated()
        return replace(request, query=self._checked(request.query, request.side))

    def _note(self, request: Request, answer: Answer) -> None:
        """Keep a request whose answer left rows out, for an audit."""
        if not answer.exact:
            self._recent.append(request)

    def _found(self, request: Request, snapshot: Snapshot) -> Found:
        """The best rows of a snapshot."""
        revisions = (
            self._filters.matching(request.where, snapshot.revision) if request.where else None
        )
        terms = _terms(request.query)
        chosen, exact = self._chosen(request, terms, snapshot, revisions)
        scan = Scan(self._rescorer, request, terms)
        if exact:
            chosen = scan.narrowed(chosen, request.limit + 1 + SPARE)
        scored = [scan.scored(*one) for one in chosen]
        candidates = sum(len(one.numbers) for one in scored)
        # Where rows were left out before, so can be what only the bound of the error would let in.
        share = np.float32(1 if exact else LIKELY[request.role])
        if request.least is not None:
            scored = [self._probable(one, request, share) for one in scored]
        found, vanished = self._exact(scored, request, terms, share)
        return Found(
            found[: request.limit],
            exact=exact,
            candidates=candidates,
            rows=sum(len(segment.side(request.side)) for segment in snapshot.segments),
            more=len(found) > request.limit,
            vanished=vanished,
        )

    def promising(
        self, side: Side, query: Query, count: int, revisions: Numbers | None = None
    ) -> Promising:
        """About the `count` rows that promise most, of items with some revisions, in order.

        Their probabilities are those of codes. ValueError without a calibration.
        """
        request = Request(side, self._checked(query, side), limit=max(count // PER_HIT, 1))
        self._check_calibrated()
        snapshot = self._reader.current()
        terms = _terms(request.query)
        chosen, _ = self._chosen(request, terms, snapshot, revisions)
        if not chosen:
            return replace(NONE, asked=True)
        scan = Scan(self._rescorer, request, terms)
        scored = [scan.scored(*one) for one in chosen]
        told = [self._told(one, request, np.float32(0)) for one in scored]
        return Promising(
            np.concatenate([one.rows.revisions[one.numbers] for one in scored]),
            np.concatenate([one.rows.positions[one.numbers] for one in scored]),
            np.concatenate([np.array(one) for one in told]),
        )

    def explained(
        self, side: Side, query: Query, rows: Sequence[tuple[int, int]]
    ) -> dict[int, Hit]:
        """Of rows by revision and position, the best of each revision, if it is still there."""
        request = Request(side, self._checked(query, side))
        ranked = self._ranked(rows, request, _terms(request.query))
        best: dict[int, Ranked] = {}
        for (revision, _), one in ranked.items():
            best[revision] = min(best.get(revision, one), one, key=Ranked.by_probability)
        asked = request.query.bag
        return {revision: self._hit(one, request, asked) for revision, one in best.items()}

    def _chosen(
        self, request: Request, terms: Sequence[Term], snapshot: Snapshot, revisions: Numbers | None
    ) -> tuple[Chosen, bool]:
        """The rows that might be among the best, and whether no others could."""
        every = request.exact or self._rescorer.device is not None  # a GPU scans in no time
        score = None if every else self._score
        return choose(snapshot.segments, request, terms, revisions, score)

    def _probable(self, scored: Scored, request: Request, share: np.float32) -> Scored:
        """Those of the rows whose probability may be as high as is asked for.

        Their scores may be off by a share of their errors.
        """
        assert request.least is not None
        told = self._told(scored, request, share)
        return scored.only(np.array(told, np.float32) >= request.least - SLACK)

    def _surely_probable(
        self, scored: Sequence[Scored], request: Request, share: np.float32
    ) -> NDArray[np.bool_]:
        """Which rows of all (N,) certainly are as probable as is asked for."""
        if request.least is None:
            return np.ones(sum(len(one.total) for one in scored), np.bool_)
        told = [self._told(one, request, -share) for one in scored]
        probabilities = np.concatenate([*(np.array(one) for one in told), np.empty(0)])
        surely: NDArray[np.bool_] = probabilities >= request.least + SLACK
        return surely

    def _told(self, scored: Scored, request: Request, share: np.float32) -> list[float]:
        """The probabilities of rows, if their scores are off by a share of their errors."""
        assert self._calibration is not None
        higher = share * np.sign(request.query.weights, dtype=np.float32)[:, None] * scored.errors
        return ranking.probabilities(
            self._calibration,
            request.query,
            request.role,
            scored.parts + higher,
            scored.rows.summaries[scored.numbers].astype(np.float32),
            scored.rows.sizes[scored.numbers],
            in_photos=request.side == "images",
        )

    def _exact(
        self,
        scored: Sequence[Scored],
        request: Request,
        terms: Sequence[Term],
        share: np.float32,
    ) -> tuple[list[Ranked], bool]:
        """The best hits, one more than is asked for if there are so many, by the catalog's bags.

        Also whether rows were looked for that the catalog has no more.

        Rows come by their scores from codes, until none that is left can be among the best if the
        scores are off by a share of their errors. Of an item's photos the best one counts, so an
        item is on the page before once any of its photos is.
        """
        total = np.concatenate([*(one.total for one in scored), np.empty(0, np.float32)])
        error = share * np.concatenate([*(one.error for one in scored), total[:0]])
        owner = np.repeat(np.arange(len(scored)), [len(one.total) for one in scored])
        place = np.concatenate([*(np.arange(len(one.total)) for one in scored), owner[:0]])
        if request.after is not None:
            kept = total - error <= request.after.score
            if request.side == "images":
                revisions = (one.rows.revisions[one.numbers] for one in scored)
                items = np.concatenate([*revisions, place[:0]])
                before = ~kept & self._surely_probable(scored, request, share)
                # Of those that may not be probable enough, exact probabilities tell.
                kept = ~np.isin(items, items[before])
            total, error, owner, place = total[kept], error[kept], owner[kept], place[kept]
        highest = total + error
        needed = request.limit + 1
        best: dict[tuple[str, int], Ranked] = {}  # by item, and by position where it tells hits
        found: list[Ranked] = []
        vanished = False
        for batch in _batches(highest, needed + SPARE):
            if len(found) >= needed:
                batch = batch[highest[batch] >= found[needed - 1].key.score]
            if not len(batch):
                break
            rows = [(scored[owner[at]], int(place[at])) for at in batch]
            fetched = list(self._fetched(rows, request, terms))
            vanished |= len(fetched) < len(rows)
            for one in fetched:
                if request.least is None or (one.probability or 0.0) >= request.least:
                    hit = one.key.item, 0 if request.side == "images" else one.key.position
                    best[hit] = min(best.get(hit, one), one, key=Ranked.by_score)
            found = [
                one for one in best.values() if request.after is None or one.key > request.after
            ]
            found.sort(key=lambda one: one.key)
        return found, vanished

    def _fetched(
        self, chosen: Sequence[tuple[Scored, int]], request: Request, terms: Sequence[Term]
    ) -> Iterator[Ranked]:
        """Rows with their bags and exact scores; those deleted meanwhile are missing."""
        keys = [
            (
                int(one.rows.revisions[one.numbers[at]]),
                int(one.rows.positions[one.numbers[at]]),
            )
            for one, at in chosen
        ]
        ranked = self._ranked(keys, request, terms)
        for key, (one, at) in zip(keys, chosen, strict=True):
            if key in ranked:
                if abs(ranked[key].key.score - one.total[at]) > one.error[at]:
                    self._reader.report(key[0])
                yield ranked[key]

    def _ranked(
        self, keys: Sequence[tuple[int, int]], request: Request, terms: Sequence[Term]
    ) -> dict[tuple[int, int], Ranked]:
        """Bags by revision and position with their exact scores, if they are still there."""
        stored = self._catalog.bags(self._collection, keys)
        if not stored:
            return {}
        vectors = [bag.vectors for bag in stored.values()]
        parts = np.stack([rescorer.exact(self._score, vectors, t, request.role) for t in terms])
        total = ranking.totals(parts, [term.weight for term in terms])
        told = self._probabilities(vectors, parts, request)
        return {
            key: Ranked(Key(-score, bag.item, bag.position), key[0], bag, probability)
            for (key, bag), score, probability in zip(
                stored.items(), total.tolist(), told, strict=True
            )
        }

    def _probabilities(
        self, bags: Sequence[Floats], parts: Floats, request: Request
    ) -> Sequence[float | None]:
        if self._calibration is None:
            return [None] * len(bags)
        return ranking.probabilities(
            self._calibration,
            request.query,
            request.role,
            parts,
            np.stack([bag.sum(axis=0) for bag in bags]),
            np.array([len(bag) for bag in bags]),
            in_photos=request.side == "images",
        )

    def _hits(self, found: Sequence[Ranked], request: Request) -> tuple[Hit, ...]:
        asked = request.query.bag
        return tuple(self._hit(one, request, asked) for one in found)

    def _hit(self, found: Ranked, request: Request, asked: FragmentBag) -> Hit:
        query, bag, score = request.query, found.stored.bag, self._collection.score
        if request.role is Role.QUERY_IS_SENTENCE:
            links = alignment.query_links(bag, query, score)
        else:
            links = alignment.links(asked, bag, score)
        key = found.key
        return Hit(key.item, key.position, key.score, links, bag, found.probability)

    def _check_calibrated(self) -> None:
        if self._calibration is None:
            raise ValueError(
                "there are no probabilities to cut at: the matcher is not calibrated; "
                "run `tessera calibrate`, or leave min_probability out"
            )

    def _checked(self, query: Query, side: Side) -> Query:
        parts = tuple(self._checked_part(part) for part in query.parts)
        if not parts:
            raise ValueError("the query has no fragments; give one with at least a word or region")
        query = replace(query, parts=parts)
        return self._calibration.asked(query, side == "images") if self._calibration else query

    def _checked_part(self, part: FragmentBag) -> FragmentBag:
        vectors = np.ascontiguousarray(part.vectors.detach().cpu().numpy(), np.float32)
        if not len(vectors):
            raise ValueError("the query has no fragments; give one with at least a word or region")
        if vectors.shape[1] != self._collection.dimension:
            raise ValueError(
                f"the query's vectors have {vectors.shape[1]} numbers, collection "
                f"{self._collection.name!r} holds vectors of {self._collection.dimension}"
            )
        if not np.isfinite(vectors).all():
            raise ValueError("the query has a fragment vector that is not finite")
        return replace(part, vectors=torch.from_numpy(vectors))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row's bag as the catalog has it, and its exact place among the hits."""

    key: Key
    revision: int
    stored: Stored
    probability: float | None

    def by_score(self) -> tuple[float, int]:
        """A key by which the best of an item's photos comes first, and of two alike the first."""
        return self.key.minus_score, -self.key.position

    def by_probability(self) -> tuple[float, float, int]:
        """As by_score, with the most probable photo first."""
        return -(self.probability or 0.0), *self.by_score()


@dataclass(frozen=True, slots=True)
class Found:
    """The best rows of a snapshot, best first, and how they were found; see Answer.

    vanished: whether rows were looked for that the catalog has no more.
    """

    ranked: list[Ranked]
    exact: bool
    candidates: int
    rows: int
    more: bool
    vanished: bool


def _terms(query: Query) -> list[Term]:
    return [
        Term(part.vectors.numpy(), weight)
        for part, weight in zip(query.parts, query.weights, strict=True)
    ]


def _batches(values: Floats, first: int) -> Iterator[Numbers]:
    """The places of values, the highest first, in batches that double."""
    left, size = np.arange(len(values)), first
    while len(left):
        chosen = left
        if size < len(left):
            places = np.argpartition(-values[left], size - 1)
            chosen, left = left[places[:size]], left[places[size:]]
        else:
            left = left[:0]
        yield chosen[np.argsort(-values[chosen], kind="stable")]
        size *= 2
