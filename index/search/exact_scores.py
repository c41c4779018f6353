"""Exact scores of rows, from the catalog's bags, and the best hits by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from index.bags import IMAGE
from index.catalog.catalog import Catalog
from index.catalog.stored_bags import StoredBag
from index.items import Collection
from index.search import query as query_parts
from index.search import regions
from index.search.contenders import SPARE, Contenders
from index.search.query import QueryPart, SentenceRole
from index.search.requests import Hit, Request
from index.segments.rows import Numbers
from models.scores.calibration import Calibration
from models.scores.kernels import Floats
from models.scores.scoring import Score

SORTED = 4_096  # values up to which all are sorted at once

# By the revisions and positions of bags: hits, best first, and the items of damaged bags. Only
# where regions are searched, a bag may have several hits.
HitsOfRow = Mapping[tuple[int, int], Sequence[Hit]]
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
        best: dict[tuple[str, int, int], Hit] = {}  # by place
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
            for hit in chain.from_iterable(scored.values()):
                if request.least is None or (hit.probability or 0.0) >= request.least:
                    other = best.setdefault(place := hit.place, hit)
                    if other is not hit and hit.by_score() < other.by_score():
                        best[place] = hit
            hits = [
                hit for hit in best.values() if request.after is None or hit.key > request.after
            ]
            hits.sort(key=Hit.by_place)
        return Best(hits, vanished, damaged)

    def _score_rows(
        self, rows: Contenders, request: Request, terms: Sequence[QueryPart]
    ) -> tuple[HitsOfRow, Refused]:
        """Score rows exactly; report those with codes too far off."""
        photos = request.side == "images"  # of another side are rows of a disk that fails
        keys = rows.keys
        hits, refused = self.score(
            [key for key in keys if (key[1] <= IMAGE) == photos], request, terms
        )
        for key, total, error in zip(keys, rows.total.tolist(), rows.error.tolist(), strict=True):
            if key in hits and abs(hits[key][0].score - total) > error:
                self._report(key[0])
        return hits, refused

    def score(
        self, keys: Sequence[tuple[int, int]], request: Request, terms: Sequence[QueryPart]
    ) -> tuple[HitsOfRow, Refused]:
        """Score bags by revision and position; those deleted meanwhile are left out.

        Also the items of those that are not as they were stored.
        """
        bags = self._catalog.look_up(self._collection, keys)
        if not bags.sound:
            return {}, bags.damaged
        vectors, offsets = bags.vectors, bags.offsets
        if request.per_photo is not None:
            return self._find_regions(bags.sound, vectors, offsets, request, terms), bags.damaged
        parts = np.stack([self._score_part(vectors, offsets, term, request) for term in terms])
        total = query_parts.totals(parts, terms)
        gains, from_words = None, np.zeros(len(total), np.float32)
        if request.words is not None:
            revisions = np.array([revision for revision, _ in bags.sound], np.int64)
            gains, from_words = request.words.of(revisions), request.words.scores_of(revisions)
        probabilities = self._probabilities(vectors, offsets, parts, request, gains)
        name = self._collection.score
        hits = {
            key: (
                Hit(
                    bag.item,
                    bag.position,
                    score,
                    key[0],
                    bag,
                    request,
                    name,
                    probability,
                    words=words,
                ),
            )
            for (key, bag), score, probability, words in zip(
                bags.sound.items(),
                (total + from_words).tolist(),
                probabilities,
                from_words.tolist(),
                strict=True,
            )
        }
        return hits, bags.damaged

    def _find_regions(
        self,
        bags: Mapping[tuple[int, int], StoredBag],
        vectors: Floats,
        offsets: Numbers,
        request: Request,
        terms: Sequence[QueryPart],
    ) -> HitsOfRow:
        """The best regions of each bag as hits; they have no probability."""
        assert request.per_photo is not None
        best = regions.find_best(
            self._score, [*bags.values()], vectors, offsets, terms, request.per_photo
        )
        name = self._collection.score
        return {
            key: [
                Hit(bag.item, bag.position, score, key[0], bag, request, name, None, number)
                for number, score in chosen
            ]
            for (key, bag), chosen in zip(bags.items(), best, strict=True)
        }

    def _score_part(
        self, vectors: Floats, offsets: Numbers, term: QueryPart, request: Request
    ) -> Floats:
        if request.role is SentenceRole.BOTH_ARE_SENTENCES:
            width = query_parts.general_width(request.query)
            return query_parts.exact_sentences(vectors, offsets, term, width)
        return query_parts.exact_rows(self._score, vectors, offsets, term, request.role)

    def _probabilities(
        self,
        vectors: Floats,
        offsets: Numbers,
        parts: Floats,
        request: Request,
        gains: Floats | None,
    ) -> Sequence[float | None]:
        calibration = query_parts.choose_calibration(self._calibration, request.role)
        if calibration is None:
            return [None] * (len(offsets) - 1)
        probabilities: list[float] = query_parts.probabilities(
            calibration,
            request.query,
            request.role,
            parts,
            lambda: np.add.reduceat(vectors, offsets[:-1], axis=0),
            np.diff(offsets),
            in_photos=request.side == "images",
            gains=gains,
        ).tolist()
        return probabilities


def batches(values: Floats, first: int) -> Iterator[Numbers]:
    """The places of values, the highest first, in batches that double.

    Of equal ones the first comes first, in a batch.
    """
    remaining, size = np.arange(len(values)), first
    while len(remaining) > max(size, SORTED):
        places = np.argpartition(-values[remaining], size - 1)
        chosen, remaining = remaining[places[:size]], remaining[places[size:]]
        yield chosen[np.argsort(-values[chosen], kind="stable")]
        size *= 2
    remaining, start = remaining[np.argsort(-values[remaining], kind="stable")], 0
    while start < len(remaining):
        yield remaining[start : start + size]
        start, size = start + size, 2 * size
