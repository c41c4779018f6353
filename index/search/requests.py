"""Requests and answers of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from index.catalog.stored_bags import StoredBag
from index.search.query import SentenceRole
from index.segments.rows import Numbers, Side
from models.scores import alignment
from models.scores.scoring import score_named
from models.text.queries import Query
from models.types import FragmentBag, Link

FARTHEST = 10_000  # hits that can be paged through, or looked at for their probability


class HitKey(NamedTuple):  # no dataclass: these are compared in a tenth of the time
    """The place of a hit in a list: score, highest first, id, position, region.

    Keys compare as their hits follow one another.
    """

    minus_score: float
    item: str
    position: int
    region: int = 0

    @property
    def score(self) -> float:
        """The hit's score."""
        return -self.minus_score


@dataclass(frozen=True, slots=True)
class WordGains:
    """What words of items add to the log odds of their photos (M,), by sorted revisions (M,).

    token: that of the collection that has these items. scale: how much a unit of log odds adds to
    a score.
    """

    token: str
    revisions: Numbers
    log_odds: NDArray[np.float32]
    scale: float = 1.0

    def of(self, revisions: Numbers) -> NDArray[np.float32]:
        """The log odds of items with these revisions (N,), 0 where they have no words."""
        places = np.minimum(np.searchsorted(self.revisions, revisions), len(self.revisions) - 1)
        same = self.revisions[places] == revisions
        gains: NDArray[np.float32] = np.where(same, self.log_odds[places], np.float32(0))
        return gains

    def scores_of(self, revisions: Numbers) -> NDArray[np.float32]:
        """The parts of scores of items with these revisions (N,)."""
        scaled: NDArray[np.float32] = np.float32(self.scale) * self.of(revisions)
        return scaled


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of items that are one hit: codes (M,) by sorted revisions (M,).

    Other items are hits by themselves. token: that of the collection that has these items.
    """

    token: str
    revisions: Numbers
    codes: Numbers

    def of(self, revisions: Numbers) -> Numbers:
        """A number for each hit of items (N,): below 0 for groups, else the revision."""
        if not len(self.revisions):
            return revisions
        places = np.minimum(np.searchsorted(self.revisions, revisions), len(self.revisions) - 1)
        grouped = self.revisions[places] == revisions
        numbers: Numbers = np.where(grouped, -1 - self.codes[places], revisions)
        return numbers


@dataclass(frozen=True, slots=True)
class Request:
    """A search: the `limit` best hits of a side behind `after`.

    A hit among images is an item by the best of its photos; among sentences it is one of them. With
    `per_photo` it is a region of an image, of which so many may be hits: see index.search.regions.
    `where` maps metadata keys to a value, or a list of which any will do; `least` is the smallest
    probability that a hit may have. `seen` says how many hits come before `after`. With `exact`
    every stored row is looked at, so that no hit can be missed. `words` raise the photos of items,
    all of which are looked at. Of each of `groups` the best item is a hit. ValueError for limits
    out of range.
    """

    side: Side
    query: Query
    limit: int = 10
    where: Mapping[str, Any] | None = None
    least: float | None = None
    after: HitKey | None = None
    seen: int = 0
    exact: bool = False
    per_photo: int | None = None
    words: WordGains | None = None
    groups: Groups | None = None

    def __post_init__(self) -> None:
        if self.per_photo is not None and (self.per_photo < 1 or self.side != "images"):
            raise ValueError(f"per_photo counts regions of images, from 1, got {self.per_photo}")
        if self.limit < 1:
            raise ValueError(f"limit starts at 1, got {self.limit}")
        if not 0 <= self.seen <= FARTHEST:
            raise ValueError(f"hits beyond {FARTHEST:,} are not given; narrow the search down")

    @property
    def role(self) -> SentenceRole:
        """The sentence's side: the query's, the rows', or both."""
        if self.side == "images":
            return SentenceRole.QUERY_IS_SENTENCE
        if self.query.text is None:
            return SentenceRole.ROWS_ARE_SENTENCES
        return SentenceRole.BOTH_ARE_SENTENCES

    def number_hits(self, revisions: Numbers) -> Numbers:
        """A number for each hit that items (N,) belong to; below 0 for groups."""
        return revisions if self.groups is None else self.groups.of(revisions)

    def behind(self, hit: Hit | None, seen: int) -> Request:
        """The same request for what comes behind a hit."""
        return self if hit is None else replace(self, after=hit.key, seen=seen)


@dataclass(frozen=True)  # no slots: a hit keeps what was made of it
class Hit:
    """One answer: its stored bag, and its request.

    Its bag and its links are made when they are first read: they take a third of a search's time.
    """

    item: str
    position: int  # among the item's photos or sentences, as in the catalog
    score: float
    revision: int
    stored: StoredBag
    request: Request
    score_name: str
    probability: float | None = None  # None where the matcher is not calibrated
    region: int | None = None  # its number in the photo's bag, where regions are searched
    words: float = 0.0  # what the item's words give to the score

    @property
    def key(self) -> HitKey:
        """Its place in a list."""
        return HitKey(*self.by_place())

    @property
    def place(self) -> tuple[str, int, int]:
        """What tells it from other hits: all photos of an item, or a group, are one."""
        if self.region is not None:
            return self.item, self.position, self.region
        if self.request.groups is not None:
            number = int(self.request.number_hits(np.array([self.revision]))[0])
            if number < 0:
                return "", number, 0
        return self.item, 0 if self.request.side == "images" else self.position, 0

    def by_place(self) -> tuple[float, str, int, int]:
        """Its key as a plain tuple, to sort quickly."""
        return -self.score, self.item, self.position, self.region or 0

    def by_score(self) -> tuple[float, str, int]:
        """A key to sort photos of an item, or a group, by score.

        Of two alike the first comes first.
        """
        return -self.score, self.item, -self.position

    def by_probability(self) -> tuple[float, float, str, int]:
        """A key like by_score, with the most probable photo first."""
        return -(self.probability or 0.0), *self.by_score()

    @cached_property
    def bag(self) -> FragmentBag:
        """The answer's own fragments."""
        return self.stored.bag

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The terms of the score: they add up to it, with `words`.

        A link's `fragment` counts in the bag of the sentence's role, its `region` in that of the
        image's role. Where both are sentences, `fragment` counts in the query.
        """
        query = self.request.query
        if self.region is not None:
            return alignment.region_links(self.bag, query, self.region, self.score_name)
        if self.request.role is SentenceRole.BOTH_ARE_SENTENCES:
            return alignment.text_links(self.bag, query)
        if self.request.role is SentenceRole.QUERY_IS_SENTENCE:
            return alignment.query_links(self.bag, query, self.score_name)
        return score_named(self.score_name).links(query.bag, self.bag)


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of a request, best first, and how they were found.

    exact: whether every row was looked at. candidates: how many rows were scored by their codes.
    rows: how many were searched. behind: how many changes of the catalog are not searched yet.
    more: whether there are hits behind the last one. coverage: the share of the collection's
    buckets that were searched, below 1 while a shard does not answer. damaged: the items that were
    left out because what is stored of them is damaged. weak_below: the probability below which a
    photo is a weak hit of the things that are asked for; None for other searches.
    """

    hits: tuple[Hit, ...]
    exact: bool
    candidates: int
    rows: int
    behind: int = 0
    more: bool = False
    coverage: float = 1.0
    damaged: tuple[str, ...] = ()
    weak_below: float | None = None

    @property
    def complete(self) -> bool:
        """Whether all of the collection was searched."""
        return self.coverage == 1.0


BEST = 1_000  # photos, or sentences, of a search that are looked at


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Rows by revision and position (M,), with probabilities from codes.

    Each is off by its error at most. An item may have several rows. asked: whether any were
    searched at all. coverage: the share of the collection that was.
    """

    revisions: Numbers
    positions: Numbers
    probabilities: NDArray[np.float64]
    errors: NDArray[np.float64]
    asked: bool = True
    coverage: float = 1.0

    def of_items(self, revisions: Sequence[int]) -> list[tuple[int, int]]:
        """The revisions and positions of rows of items with some revisions."""
        chosen = np.flatnonzero(np.isin(self.revisions, revisions))
        pairs = zip(self.revisions[chosen].tolist(), self.positions[chosen].tolist(), strict=True)
        return list(pairs)

    def settle(self, revisions: Sequence[int], exact: Mapping[int, float]) -> Shortlist:
        """The same rows; of some items, with the exact probability of their best row.

        Items without one keep that of codes, and have no other.
        """
        settled = np.isin(self.revisions, revisions)
        probabilities = self.probabilities.copy()
        for row in np.flatnonzero(settled).tolist():
            probabilities[row] = exact.get(int(self.revisions[row]), probabilities[row])
        return replace(self, probabilities=probabilities, errors=np.where(settled, 0, self.errors))


NO_ROWS = np.empty(0, np.int64)
NONE = Shortlist(NO_ROWS, NO_ROWS, np.empty(0), np.empty(0), asked=False)


class Shard(Protocol):
    """Some of a collection's rows. Safe for many threads."""

    def best(self, request: Request) -> Answer:
        """The best hits among its rows; errors are those of index.search.index.Index.best."""
        ...
