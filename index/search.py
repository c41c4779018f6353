"""Which stored bags answer a query best: candidates, then exact scores, then the links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from index import ranking
from index.bags import IMAGE
from index.candidates import Candidates, Chosen, Exact
from index.catalog import Catalog
from index.items import Collection
from index.ranking import Scored
from index.rescorer import Floats, Rescorer, Role, Term
from index.rows import Rows
from index.segments import Segment, Segments, Sizes, Snapshot
from models import alignment
from models.calibration import Calibration
from models.queries import Query
from models.types import FragmentBag, Link

Side = Literal["images", "sentences"]
FARTHEST = 10_000  # hits that can be paged through, or looked at for their probability


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One answer. The links add up to the score; `bag` is the answer's own.

    `position` says which of the item's sentences it is, None for its image. A link's `fragment`
    counts in the bag of the sentence's role, its `region` in the bag of the image's role.
    """

    item: str
    position: int | None
    score: float
    links: tuple[Link, ...]
    bag: FragmentBag
    probability: float | None = None  # None where the matcher is not calibrated


class Index:
    """Search over a collection, as the catalog has it at that moment. Safe for many threads.

    Every search first takes in what any process has put or deleted since the last one. Hits come
    by score, the highest first, then by item id and position. All searches raise ValueError for a
    query without parts or of another dimension, ModelMismatch once another model has re-embedded
    the collection. `where` maps metadata keys to a value, or a list of which any will do.
    """

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        directory: Path,
        *,
        candidates: Candidates | None = None,
        rescorer: Rescorer | None = None,
        sizes: Sizes | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        self._catalog = catalog
        self._collection = collection
        self._rescorer = rescorer or Rescorer(collection.score)
        self._candidates = candidates or Exact()
        self._calibration = calibration
        # Named by the token, so that what another database left behind is never taken for ours.
        folder = directory / collection.token
        self._segments = Segments(folder, collection.dimension, sizes or Sizes())
        self._snapshot: Snapshot | None = None
        self._lock = Lock()

    def search_images(
        self,
        query: Query,
        *,
        limit: int,
        offset: int = 0,
        where: Mapping[str, Any] | None = None,
        least: float | None = None,
    ) -> list[SearchHit]:
        """The images that answer a sentence best, or, asked with an image, those most like it."""
        return self._search("images", query, Role.QUERY_IS_SENTENCE, limit, offset, where, least)

    def search_sentences(
        self,
        query: Query,
        *,
        limit: int,
        offset: int = 0,
        where: Mapping[str, Any] | None = None,
        least: float | None = None,
    ) -> list[SearchHit]:
        """The sentences that an image answers best: each sentence's own fragments are summed."""
        return self._search(
            "sentences", query, Role.ROWS_ARE_SENTENCES, limit, offset, where, least
        )

    def similar_sentences(
        self,
        query: Query,
        *,
        limit: int,
        offset: int = 0,
        where: Mapping[str, Any] | None = None,
        least: float | None = None,
    ) -> list[SearchHit]:
        """The sentences most like a sentence: they play the image's role."""
        return self._search("sentences", query, Role.QUERY_IS_SENTENCE, limit, offset, where, least)

    def catch_up(self) -> int:
        """Take in the catalog's changes, as every search does; gives the revision reached."""
        return self._current(None)[0].revision

    def prepare(self) -> None:
        """Let the candidates build what makes searches of big segments fast; may take minutes."""
        segments = self._current(None)[0].segments
        self._candidates.prepare(segment.images for segment in segments)
        self._candidates.prepare(segment.sentences for segment in segments)

    def _current(
        self, where: Mapping[str, Any] | None
    ) -> tuple[Snapshot, NDArray[np.int64] | None]:
        """The rows there are, and the revisions a filter allows, both as of one moment."""
        with self._lock, self._catalog.reading(self._collection) as view:
            if self._snapshot is None:
                self._snapshot = self._segments.load(view)
            elif self._snapshot.revision != view.revision:
                self._snapshot = self._segments.advance(self._snapshot, view)
            return self._snapshot, view.matching(where) if where else None

    def _search(
        self,
        side: Side,
        query: Query,
        role: Role,
        limit: int,
        offset: int,
        where: Mapping[str, Any] | None,
        least: float | None,
    ) -> list[SearchHit]:
        query = self._checked(query)
        if limit < 1 or offset < 0:
            raise ValueError(f"limit starts at 1 and offset at 0, got {limit} and {offset}")
        if least is not None and self._calibration is None:
            raise ValueError(
                "there are no probabilities to cut at: the matcher is not calibrated; "
                "run `tessera calibrate`, or leave min_probability out"
            )
        terms = _terms(query)
        snapshot, allowed = self._current(where)
        sides = [_side(segment, side) for segment in snapshot.segments]
        parts = [Chosen(rows, rows.chosen(allowed)) for rows in sides]
        # A probability may rank hits otherwise than their score: all within reach are looked at.
        reach = offset + limit if least is None else FARTHEST
        parts = list(self._candidates.choose(parts, terms, role, reach))
        scores = [self._scores(part, terms, role) for part in parts]
        found = ranking.best(parts, scores, query.weights, reach)
        if least is None:
            found = found[offset:]
        told = self._probabilities(query, found, role, side)
        hits = list(zip(found, told, strict=True))
        if least is not None:
            hits = [hit for hit in hits if (hit[1] or 0.0) >= least][offset : offset + limit]
        return [self._hit(one, query, role, probability) for one, probability in hits]

    def _scores(self, part: Chosen, terms: Sequence[Term], role: Role) -> Floats:
        """The exact score of every row for each term, (P, B)."""
        rows = part.rows
        return np.stack(
            [
                self._rescorer.exact(
                    rows.vectors,
                    rows.offsets,
                    part.numbers,
                    term.vectors,
                    role,
                    negated=term.negated,
                )
                for term in terms
            ]
        )

    def _probabilities(
        self, query: Query, found: Sequence[Scored], role: Role, side: Side
    ) -> Sequence[float | None]:
        if self._calibration is None:
            return [None] * len(found)
        return ranking.probabilities(self._calibration, query, found, role, side == "images")

    def _checked(self, query: Query) -> Query:
        parts = tuple(self._checked_part(part) for part in query.parts)
        if not parts:
            raise ValueError("the query has no fragments; give one with at least a word or region")
        return replace(query, parts=parts)

    def _checked_part(self, part: FragmentBag) -> FragmentBag:
        vectors = part.vectors.detach().cpu().float().contiguous()
        if not len(vectors):
            raise ValueError("the query has no fragments; give one with at least a word or region")
        if vectors.shape[1] != self._collection.dimension:
            raise ValueError(
                f"the query's vectors have {vectors.shape[1]} numbers, collection "
                f"{self._collection.name!r} holds vectors of {self._collection.dimension}"
            )
        if not bool(vectors.isfinite().all()):
            raise ValueError("the query has a fragment vector that is not finite")
        return replace(part, vectors=vectors)

    def _hit(self, found: Scored, query: Query, role: Role, probability: float | None) -> SearchHit:
        bag = found.rows.bag(found.row)
        if role is Role.QUERY_IS_SENTENCE:
            links = alignment.query_links(bag, query, self._collection.score)
        else:
            links = alignment.links(query.bag, bag, self._collection.score)
        return SearchHit(
            item=found.rows.item(found.row),
            position=None if found.position == IMAGE else found.position,
            score=found.score,
            links=links,
            bag=bag,
            probability=probability,
        )


def _terms(query: Query) -> list[Term]:
    """The parts as the rows are, not to be written to: one compiled kernel serves all."""
    terms = []
    for part, weight in zip(query.parts, query.weights, strict=True):
        vectors: Floats = part.vectors.numpy().view()
        vectors.flags.writeable = False
        terms.append(Term(vectors, weight))
    return terms


def _side(segment: Segment, side: Side) -> Rows:
    return segment.images if side == "images" else segment.sentences
