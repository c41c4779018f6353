"""Exact scores: the best rows of a scan by the bags that the catalog has of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from index.bags import IMAGE
from index.catalog.catalog import Catalog
from index.catalog.read_rows import StoredBag
from index.items import Collection
from index.search import query as query_parts
from index.search import ranking
from index.search.contenders import SPARE, Contenders
from index.search.query import Term
from index.search.ranking import Key
from index.search.requests import Hit, Request
from index.segments.rows import Numbers, offsets_of
from models.scores.calibration import Calibration
from models.scores.kernels import Floats
from models.scores.scoring import Score

Refused = Mapping[tuple[int, int], str]  # items by the revisions and positions of damaged bags


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row's bag as the catalog has it, and its exact place among the hits."""

    key: Key
    revision: int
    stored: StoredBag
    probability: float | None

    def by_score(self) -> tuple[float, int]:
        """A key by which the best of an item's photos comes first, and of two alike the first."""
        return self.key.minus_score, -self.key.position

    def by_probability(self) -> tuple[float, float, int]:
        """As by_score, with the most probable photo first."""
        return -(self.probability or 0.0), *self.by_score()


@dataclass(frozen=True, slots=True)
class Best:
    """The best hits of a search by the catalog's bags, and what is missing among them.

    vanished: the revisions of rows that were looked for and that the catalog lacks. damaged: the
    items with a bag that is not as it was stored.
    """

    ranked: list[Ranked]
    vanished: list[int]
    damaged: set[str]


class ExactScores:
    """Exact scores and probabilities of a collection's rows, from their bags in the catalog."""

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        score: Score,
        calibration: Calibration | None,
        report: Callable[[int], None],
    ) -> None:
        """`report` is called with the revision of a row whose codes are too far off."""
        self._catalog, self._collection = catalog, collection
        self._score, self._calibration, self._report = score, calibration, report

    def best(self, contenders: Contenders, request: Request, terms: Sequence[Term]) -> Best:
        """The best hits, one more than is asked for if there are so many, by the catalog's bags.

        Rows come by the scores that they may have, until none that is left can be among the best.
        Of an item's photos the best one counts, so an item is on the page before once any of its
        photos is.
        """
        highest = contenders.highest
        needed = request.limit + 1
        best: dict[tuple[str, int], Ranked] = {}  # by item, and by position where it tells hits
        ranked: list[Ranked] = []
        vanished: list[int] = []
        damaged = set[str]()
        for batch in batches(highest, needed + SPARE):
            if len(ranked) >= needed:
                batch = batch[highest[batch] >= ranked[needed - 1].key.score]
            if not len(batch):
                break
            asked = contenders.only(batch)
            fetched, refused = self._fetched(asked, request, terms)
            damaged.update(refused.values())
            if len(fetched) < len(asked):
                there = refused.keys() | {(row.revision, row.key.position) for row in fetched}
                vanished += [key[0] for key in asked.keys if key not in there]
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
        return Best(ranked, vanished, damaged)

    def _fetched(
        self, contenders: Contenders, request: Request, terms: Sequence[Term]
    ) -> tuple[list[Ranked], Refused]:
        """Rows with their bags and exact scores, and those that are damaged.

        Those deleted meanwhile are in neither.
        """
        keys = contenders.keys
        photos = request.side == "images"  # of another side are rows of a disk that fails
        own = [key for key in keys if (key[1] <= IMAGE) == photos]
        ranked, refused = self.ranked(own, request, terms)
        for key, total, error in zip(keys, contenders.total, contenders.error, strict=True):
            if key in ranked and abs(ranked[key].key.score - total) > error:
                self._report(key[0])
        return list(ranked.values()), refused

    def ranked(
        self, keys: Sequence[tuple[int, int]], request: Request, terms: Sequence[Term]
    ) -> tuple[dict[tuple[int, int], Ranked], Refused]:
        """Bags by revision and position with their exact scores, if they are still there.

        Also the items of those that are not as they were stored.
        """
        found = self._catalog.look_up(self._collection, keys)
        stored = found.sound
        if not stored:
            return {}, found.damaged
        bags = [bag.vectors for bag in stored.values()]
        vectors, offsets = np.concatenate(bags), offsets_of([len(bag) for bag in bags])
        parts = np.stack(
            [query_parts.exact_rows(self._score, vectors, offsets, t, request.role) for t in terms]
        )
        total = ranking.totals(parts, [term.weight for term in terms])
        probabilities = self._probabilities(vectors, offsets, parts, request)
        ranked = {
            key: Ranked(Key(-score, bag.item, bag.position), key[0], bag, probability)
            for (key, bag), score, probability in zip(
                stored.items(), total.tolist(), probabilities, strict=True
            )
        }
        return ranked, found.damaged

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
