"""Shards: a collection's rows may lie in several places, each of which answers a search alone."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Protocol

from index.search.requests import Answer, Request


class Shard(Protocol):
    """Some of a collection's rows. Safe for many threads."""

    def best(self, request: Request) -> Answer:
        """The best hits among its rows; errors are those of index.search.index.Index.best."""
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
    hits = tuple(
        islice(merge(*(answer.hits for answer in answers), key=lambda hit: hit.key), limit)
    )
    return Answer(
        hits,
        exact=all(answer.exact for answer in answers),
        candidates=sum(answer.candidates for answer in answers),
        rows=sum(answer.rows for answer in answers),
        behind=sum(answer.behind for answer in answers),
        more=any(answer.more for answer in answers)
        or len(hits) < sum(len(answer.hits) for answer in answers),
    )
