"""Shards: a collection's rows may lie in several places, each of which answers a search alone."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Protocol

from index.requests import Answer, Request


class Shard(Protocol):
    """Some of a collection's rows. Safe for many threads."""

    def best(self, request: Request) -> Answer:
        """The best hits among its rows; errors are those of index.search.Index.best."""
        ...


class Shards:
    """Several shards as one. A row's score depends on no other row, so merging is exact."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = tuple(shards)

    def best(self, request: Request) -> Answer:
        """The best hits of all shards."""
        return merged([shard.best(request) for shard in self._shards], request.limit)


def merged(answers: Sequence[Answer], limit: int) -> Answer:
    """The best hits of several answers to one request."""
    hits = tuple(islice(merge(*(one.hits for one in answers), key=lambda hit: hit.key), limit))
    return Answer(
        hits,
        exact=all(one.exact for one in answers),
        candidates=sum(one.candidates for one in answers),
        rows=sum(one.rows for one in answers),
        behind=sum(one.behind for one in answers),
        more=any(one.more for one in answers) or len(hits) < sum(len(one.hits) for one in answers),
    )
