"""Requests and answers: what a search asks for, and what it gives, as one value each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

import torch

from index.bags import photo_at
from index.ranking import Key
from index.rescorer import Role
from index.rows import Side
from models.queries import Query
from models.types import FragmentBag, Link

FARTHEST = 10_000  # hits that can be paged through, or looked at for their probability


@dataclass(frozen=True, slots=True)
class Request:
    """A search: the `limit` best hits of a side for a query, of those behind `after`.

    A hit among images is an item by the best of its photos; among sentences it is one of them.
    `where` maps metadata keys to a value, or a list of which any will do; `least` is the smallest
    probability that a hit may have. `seen` says how many hits come before `after`. With `exact`
    every stored row is looked at, so that no hit can be missed. ValueError for limits out of range.
    """

    side: Side
    query: Query
    limit: int = 10
    where: Mapping[str, Any] | None = None
    least: float | None = None
    after: Key | None = None
    seen: int = 0
    exact: bool = False

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ValueError(f"limit starts at 1, got {self.limit}")
        if not 0 <= self.seen <= FARTHEST:
            raise ValueError(f"hits beyond {FARTHEST:,} are not given; narrow the search down")

    @property
    def role(self) -> Role:
        """A photo that is asked for sentences is described by them; else the query describes."""
        if self.side == "sentences" and self.query.text is None:
            return Role.ROWS_ARE_SENTENCES
        return Role.QUERY_IS_SENTENCE

    @property
    def reach(self) -> int:
        """How many of the best hits must be known."""
        return self.seen + self.limit if self.least is None else FARTHEST

    def behind(self, hit: Hit | None, seen: int) -> Request:
        """The same request for what comes behind a hit."""
        return self if hit is None else replace(self, after=hit.key, seen=seen)


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer. The links add up to the score; `bag` is the answer's own.

    `position` says which of the item's photos or sentences it is, as in the catalog. A link's
    `fragment` counts in the bag of the sentence's role, its `region` in that of the image's role.
    """

    item: str
    position: int
    score: float
    links: tuple[Link, ...]
    bag: FragmentBag
    probability: float | None = None  # None where the matcher is not calibrated

    @property
    def key(self) -> Key:
        """Where it stands in its list."""
        return Key(-self.score, self.item, self.position)

    def __reduce__(self) -> tuple[Any, ...]:
        """Plain values: shards send hits, and of many small objects pickle takes milliseconds."""
        vectors, places = self.bag.vectors.numpy(), self.bag.places
        bag = (vectors.tobytes(), vectors.shape, type(places[0]), _plain(places), self.bag.labels)
        links = _plain(self.links)
        return _hit, (self.item, self.position, self.score, links, bag, self.probability)

    @property
    def photo(self) -> int | None:
        """Which of the item's photos it is, counted from 0; None for a sentence."""
        return photo_at(self.position)


def _plain(values: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """Dataclasses of one kind as tuples of their fields."""
    if not values:
        return ()
    read = attrgetter(*(field.name for field in fields(values[0])))
    return tuple(map(read, values))


def _hit(
    item: str,
    position: int,
    score: float,
    links: tuple[tuple[Any, ...], ...],
    bag: tuple[Any, ...],
    probability: float | None,
) -> Hit:
    """The hit of which Hit.__reduce__ made these values."""
    vectors, shape, kind, places, labels = bag
    tensor = torch.frombuffer(bytearray(vectors), dtype=torch.float32).view(shape)
    whole = FragmentBag(tensor, tuple(kind(*one) for one in places), labels)
    return Hit(item, position, score, tuple(Link(*one) for one in links), whole, probability)


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of a request, best first, and how they were found.

    exact: whether every row was looked at. candidates: how many rows were scored by their codes.
    rows: how many were searched. behind: how many changes of the catalog are not searched yet.
    more: whether there are hits behind the last one. coverage: the share of the collection's
    buckets that were searched, below 1 while a shard does not answer.
    """

    hits: tuple[Hit, ...]
    exact: bool
    candidates: int
    rows: int
    behind: int = 0
    more: bool = False
    coverage: float = 1.0

    @property
    def complete(self) -> bool:
        """Whether all of the collection was searched."""
        return self.coverage == 1.0


@dataclass(frozen=True, slots=True)
class ShardAnswer:
    """A shard's answer of what it held at a revision; whether some of that has `gone` since.

    What has gone might have been among the hits, and its successor is newer than the revision.
    """

    answer: Answer
    revision: int
    gone: bool
