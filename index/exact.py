"""Exact scores: the best rows of a scan by the bags that the catalog has of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from index import query_parts, ranking
from index.bags import IMAGE
from index.catalog import Catalog
from index.items import Collection
from index.lookup import Stored
from index.probable import surely_probable
from index.query_parts import Term
from index.ranking import Key
from index.requests import Hit, Request
from index.rows import Numbers, Rows, offsets_of
from index.scan import Scored
from models.calibration import Calibration
from models.kernels import Floats
from models.scoring import Score

SPARE = 5  # rows whose exact scores are looked at beyond what is asked for


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


class ExactScores:
    """Exact scores and probabilities of a collection's rows, from their bags in the catalog."""

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        score: Score,
        calibration: Calibration | None,
        report: Callable[[Rows], None],
    ) -> None:
        """`report` is called with the rows of a segment of which one's codes are too far off."""
        self._catalog, self._collection = catalog, collection
        self._score, self._calibration, self._report = score, calibration, report

    def best(
        self,
        scored: Sequence[Scored],
        request: Request,
        terms: Sequence[Term],
        share: np.float32,
    ) -> tuple[list[Ranked], list[Rows]]:
        """The best hits, one more than is asked for if there are so many, by the catalog's bags.

        Also the segments' rows of which some were looked for that the catalog has no more.

        Rows come by their scores from codes, until none that is left can be among the best if the
        scores are off by a share of their errors. Of an item's photos the best one counts, so an
        item is on the page before once any of its photos is.
        """
        highest, segment, place = self._unseen(scored, request, share)
        needed = request.limit + 1
        best: dict[tuple[str, int], Ranked] = {}  # by item, and by position where it tells hits
        ranked: list[Ranked] = []
        vanished: list[Rows] = []
        for batch in batches(highest, needed + SPARE):
            if len(ranked) >= needed:
                batch = batch[highest[batch] >= ranked[needed - 1].key.score]
            if not len(batch):
                break
            rows = [(scored[segment[at]], int(place[at])) for at in batch]
            fetched = list(self._fetched(rows, request, terms))
            if len(fetched) < len(rows):
                there = {(row.revision, row.key.position) for row in fetched}
                vanished += [part.rows for part, at in rows if part.key(at) not in there]
            for candidate in fetched:
                if request.least is None or (candidate.probability or 0.0) >= request.least:
                    hit = (
                        candidate.key.item,
                        0 if request.side == "images" else candidate.key.position,
                    )
                    best[hit] = min(best.get(hit, candidate), candidate, key=Ranked.by_score)
            ranked = [
                candidate
                for candidate in best.values()
                if request.after is None or candidate.key > request.after
            ]
            ranked.sort(key=lambda candidate: candidate.key)
        return ranked, vanished

    def _unseen(
        self, scored: Sequence[Scored], request: Request, share: np.float32
    ) -> tuple[Floats, Numbers, Numbers]:
        """The rows (N,) that may come after the page before: their highest possible scores.

        And where each row is: which of `scored` it is in, and its place there.
        """
        total = np.concatenate([*(part.total for part in scored), np.empty(0, np.float32)])
        error = share * np.concatenate([*(part.error for part in scored), total[:0]])
        segment = np.repeat(np.arange(len(scored)), [len(part.total) for part in scored])
        place = np.concatenate([*(np.arange(len(part.total)) for part in scored), segment[:0]])
        highest = total + error
        if request.after is None:
            return highest, segment, place
        unseen = total - error <= request.after.score
        if request.side == "images":
            revisions = (part.rows.revisions[part.numbers] for part in scored)
            items = np.concatenate([*revisions, place[:0]])
            shown = ~unseen & surely_probable(self._calibration, scored, request, share)
            # Of those that may not be probable enough, exact probabilities tell.
            unseen = ~np.isin(items, items[shown])
        return highest[unseen], segment[unseen], place[unseen]

    def _fetched(
        self, chosen: Sequence[tuple[Scored, int]], request: Request, terms: Sequence[Term]
    ) -> Iterator[Ranked]:
        """Rows with their bags and exact scores; those deleted meanwhile are missing."""
        keys = [part.key(at) for part, at in chosen]
        photos = request.side == "images"  # of another side are rows of a disk that fails
        sound = [key for key in keys if (key[1] <= IMAGE) == photos]
        ranked = self.ranked(sound, request, terms)
        for key, (part, at) in zip(keys, chosen, strict=True):
            if key in ranked:
                if abs(ranked[key].key.score - part.total[at]) > part.error[at]:
                    self._report(part.rows)
                yield ranked[key]

    def ranked(
        self, keys: Sequence[tuple[int, int]], request: Request, terms: Sequence[Term]
    ) -> dict[tuple[int, int], Ranked]:
        """Bags by revision and position with their exact scores, if they are still there."""
        stored = self._catalog.bags(self._collection, keys)
        if not stored:
            return {}
        bags = [bag.vectors for bag in stored.values()]
        vectors, offsets = np.concatenate(bags), offsets_of([len(bag) for bag in bags])
        parts = np.stack(
            [query_parts.exact_rows(self._score, vectors, offsets, t, request.role) for t in terms]
        )
        total = ranking.totals(parts, [term.weight for term in terms])
        probabilities = self._probabilities(vectors, offsets, parts, request)
        return {
            key: Ranked(Key(-score, bag.item, bag.position), key[0], bag, probability)
            for (key, bag), score, probability in zip(
                stored.items(), total.tolist(), probabilities, strict=True
            )
        }

    def _probabilities(
        self, vectors: Floats, offsets: Numbers, parts: Floats, request: Request
    ) -> Sequence[float | None]:
        if self._calibration is None:
            return [None] * (len(offsets) - 1)
        return ranking.probabilities(
            self._calibration,
            request.query,
            request.role,
            parts,
            np.add.reduceat(vectors, offsets[:-1], axis=0),
            np.diff(offsets),
            in_photos=request.side == "images",
        )

    def hits(self, ranked: Sequence[Ranked], request: Request) -> tuple[Hit, ...]:
        """Rows as hits of a request."""
        score = self._collection.score
        return tuple(Hit(row.key, row.stored, request, score, row.probability) for row in ranked)


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
