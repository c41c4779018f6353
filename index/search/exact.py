"""Exact scores: the best rows of a scan by their bags in the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from index.bags import IMAGE
from index.catalog.catalog import Catalog
from index.items import Collection
from index.search import query as query_parts
from index.search.contenders import SPARE, Contenders
from index.search.query import QueryPart
from index.search.requests import Hit, HitKey, Request
from index.segments.rows import Numbers, offsets_of
from models.scores.calibration import Calibration
from models.scores.kernels import Floats
from models.scores.scoring import Score

# By the revisions and positions of bags: hits, and the items of damaged bags.
HitOfRow = Mapping[tuple[int, int], Hit]
Refused = Mapping[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class Best:
    """The best hits of a search by the catalog's bags, and the rows that are missing.

    vanished: the revisions of rows that were looked for and that the catalog lacks. damaged: the
    items with a bag that is not as it was stored.
    """

    hits: list[Hit]
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

    def best(self, contenders: Contenders, request: Request, terms: Sequence[QueryPart]) -> Best:
        """Find the best hits by the catalog's bags, up to one more than is asked for.

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
                there = scored.keys() | refused.keys()
                vanished += [key[0] for key in rows.keys if key not in there]
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
        """Score rows exactly, and report those whose codes are too far off; see `score`."""
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
        parts = np.stack(
            [query_parts.exact_rows(self._score, vectors, offsets, t, request.role) for t in terms]
        )
        total = query_parts.totals(parts, [term.weight for term in terms])
        probabilities = self._probabilities(vectors, offsets, parts, request)
        name = self._collection.score
        hits = {
            key: Hit(
                HitKey(-score, bag.item, bag.position), key[0], bag, request, name, probability
            )
            for (key, bag), score, probability in zip(
                bags.sound.items(), total.tolist(), probabilities, strict=True
            )
        }
        return hits, bags.damaged

    def _probabilities(
        self, vectors: Floats, offsets: Numbers, parts: Floats, request: Request
    ) -> Sequence[float | None]:
        if self._calibration is None:
            return [None] * (len(offsets) - 1)
        return query_parts.probabilities(
            self._calibration,
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
