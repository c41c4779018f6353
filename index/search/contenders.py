"""Contenders: possible best hits by their codes, and their exact scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from index.bags import IMAGE
from index.catalog.catalog import Catalog
from index.items import Collection
from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.search.requests import Hit, Request
from index.search.scan import Scored, mark_surely_probable
from index.segments.rows import Numbers, offsets_of
from models.scores.calibration import Calibration
from models.scores.kernels import Floats
from models.scores.scoring import Score

SPARE = 5  # rows whose exact scores are looked at beyond what is asked for


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

        Scores are off by a share of errors at most.
        """
        numbers = np.empty(0, np.int64)
        total = np.concatenate([*(part.total for part in scored), np.empty(0, np.float32)])
        error = np.concatenate([*(part.error for part in scored), total[:0]])
        every = cls(
            np.concatenate([*(part.rows.revisions[part.numbers] for part in scored), numbers]),
            np.concatenate([*(part.rows.positions[part.numbers] for part in scored), numbers]),
            total,
            error,
            total + share * error,
        )
        if request.after is None:
            return every
        unseen = total - share * error <= request.after.score
        if request.side == "images":
            shown = ~unseen & mark_surely_probable(calibration, scored, request, share)
            # Of those that may not be probable enough, exact probabilities tell.
            unseen = ~np.isin(every.revisions, every.revisions[shown])
        return every.only(unseen)

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
        if request.after is not None:  # what may have been shown is no hit for certain
            shown = self.revisions[self.highest >= request.after.score]
            lowest = np.where(np.isin(self.revisions, shown), -np.inf, lowest)
        if request.side == "images":
            lowest = _by_item(self.revisions, lowest)
        least = min(_highest(lowest, count), _highest(self.highest, count + SPARE))
        return self.only(self.highest >= least)


NONE = Contenders(*np.empty((2, 0), np.int64), *np.empty((3, 0), np.float32))


@dataclass(frozen=True, slots=True)
class ShardAnswer:
    """Possible best rows of a shard, as of a revision; see Answer.

    gone: whether some of what it held has gone since. That might have been among the hits, and its
    successor is newer than the revision.
    """

    contenders: Contenders
    exact: bool
    candidates: int
    rows: int
    revision: int
    gone: bool = False


def _by_item(revisions: Numbers, values: Floats) -> Floats:
    """The highest value of each revision."""
    different, items = np.unique(revisions, return_inverse=True)
    highest = np.full(len(different), -np.inf, values.dtype)
    np.maximum.at(highest, items, values)
    return highest


def _highest(values: Floats, count: int) -> float:
    """The value that so many reach; -inf where there are fewer."""
    return float(np.partition(values, -count)[-count]) if count <= len(values) else -np.inf


# By the revisions and positions of bags: hits, and the items of damaged bags.
HitOfRow = Mapping[tuple[int, int], Hit]
Refused = Mapping[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class Best:
    """The best hits of a search, and the missing rows.

    vanished: the revisions of rows that were looked for and that the catalog lacks. damaged: the
    items with a bag that is not as it was stored.
    """

    hits: list[Hit]
    vanished: list[int]
    damaged: set[str]


class ExactScores:
    """Exact scores and probabilities of rows, from the catalog's bags."""

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        score: Score,
        calibration: Calibration | None,
        report: Callable[[int], None],
    ) -> None:
        """`report` gets the revision of a row with codes too far off."""
        self._catalog, self._collection = catalog, collection
        self._score, self._calibration, self._report = score, calibration, report

    def best(self, contenders: Contenders, request: Request, terms: Sequence[QueryPart]) -> Best:
        """Find the best hits by bags, one more than asked for.

        Rows come by the scores that they may have, until none that is left can be among the best.
        Of an item's photos the best one counts, so an item is on the page before once any of its
        photos is.
        """
        highest = contenders.highest
        needed = request.limit + 1
        best: dict[tuple[str, int], Hit] = {}  # by item, and by position where it tells hits apart
        hits: list[Hit] = []
        vanished: list[int] = []
        damaged = set[str]()
        for batch in batches(highest, needed + SPARE):
            if len(hits) >= needed:
                batch = batch[highest[batch] >= hits[needed - 1].score]
            if not len(batch):
                break
            rows = contenders.only(batch)
            scored, refused = self._score_rows(rows, request, terms)
            damaged.update(refused.values())
            if len(scored) < len(rows):
                stored = scored.keys() | refused.keys()
                vanished += [key[0] for key in rows.keys if key not in stored]
            for hit in scored.values():
                if request.least is None or (hit.probability or 0.0) >= request.least:
                    place = hit.item, 0 if request.side == "images" else hit.position
                    best[place] = min(best.get(place, hit), hit, key=Hit.by_score)
            hits = [
                hit for hit in best.values() if request.after is None or hit.key > request.after
            ]
            hits.sort(key=lambda hit: hit.key)
        return Best(hits, vanished, damaged)

    def _score_rows(
        self, rows: Contenders, request: Request, terms: Sequence[QueryPart]
    ) -> tuple[HitOfRow, Refused]:
        """Score rows exactly; report those with codes too far off."""
        photos = request.side == "images"  # of another side are rows of a disk that fails
        keys = rows.keys
        hits, refused = self.score(
            [key for key in keys if (key[1] <= IMAGE) == photos], request, terms
        )
        for key, total, error in zip(keys, rows.total, rows.error, strict=True):
            if key in hits and abs(hits[key].score - total) > error:
                self._report(key[0])
        return hits, refused

    def score(
        self, keys: Sequence[tuple[int, int]], request: Request, terms: Sequence[QueryPart]
    ) -> tuple[HitOfRow, Refused]:
        """Score bags by revision and position; those deleted meanwhile are left out.

        Also the items of those that are not as they were stored.
        """
        bags = self._catalog.look_up(self._collection, keys)
        if not bags.sound:
            return {}, bags.damaged
        bag_vectors = [bag.vectors for bag in bags.sound.values()]
        vectors = np.concatenate(bag_vectors)
        offsets = offsets_of([len(fragments) for fragments in bag_vectors])
        parts = np.stack([self._score_part(vectors, offsets, term, request) for term in terms])
        total = query_parts.totals(parts, [term.weight for term in terms])
        probabilities = self._probabilities(vectors, offsets, parts, request)
        name = self._collection.score
        hits = {
            key: Hit(bag.item, bag.position, score, key[0], bag, request, name, probability)
            for (key, bag), score, probability in zip(
                bags.sound.items(), total.tolist(), probabilities, strict=True
            )
        }
        return hits, bags.damaged

    def _score_part(
        self, vectors: Floats, offsets: Numbers, term: QueryPart, request: Request
    ) -> Floats:
        if request.role is SentenceRole.BOTH_ARE_SENTENCES:
            width = query_parts.general_width(request.query)
            return query_parts.exact_sentences(vectors, offsets, term, width)
        return query_parts.exact_rows(self._score, vectors, offsets, term, request.role)

    def _probabilities(
        self, vectors: Floats, offsets: Numbers, parts: Floats, request: Request
    ) -> Sequence[float | None]:
        calibration = query_parts.choose_calibration(self._calibration, request.role)
        if calibration is None:
            return [None] * (len(offsets) - 1)
        return query_parts.probabilities(
            calibration,
            request.query,
            request.role,
            parts,
            np.add.reduceat(vectors, offsets[:-1], axis=0),
            np.diff(offsets),
            in_photos=request.side == "images",
        )


def batches(values: Floats, first: int) -> Iterator[Numbers]:
    """The places of values, the highest first, in batches that double."""
    remaining, size = np.arange(len(values)), first
    while len(remaining):
        chosen = remaining
        if size < len(remaining):
            places = np.argpartition(-values[remaining], size - 1)
            chosen, remaining = remaining[places[:size]], remaining[places[size:]]
        else:
            remaining = remaining[:0]
        yield chosen[np.argsort(-values[chosen], kind="stable")]
        size *= 2
