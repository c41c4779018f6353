"""Audits: the recall of searches, by repeating them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from index.search.requests import Request, Shard


@dataclass(frozen=True, slots=True)
class Audit:
    """The share of each request's exact hits that its usual answer had."""

    recalls: tuple[float, ...]

    @property
    def recall(self) -> float | None:
        """Their mean; None where there were no requests."""
        return sum(self.recalls) / len(self.recalls) if self.recalls else None

    @property
    def worst(self) -> float | None:
        """The smallest of them; None where there were no requests."""
        return min(self.recalls, default=None)


def audit(shard: Shard, requests: Sequence[Request]) -> Audit:
    """Answer requests twice, as usual and exactly.

    Errors are those of the searches.
    A hit that scores like the last of the exact answer counts as one of them.
    """
    return Audit(tuple(_recall(shard, request) for request in requests))


def _recall(shard: Shard, request: Request) -> float:
    usual = shard.best(replace(request, exact=False)).hits
    exact = shard.best(replace(request, exact=True)).hits
    if not exact:
        return 1.0
    recalled = sum(hit.score >= exact[-1].score for hit in usual)
    return min(1.0, recalled / len(exact))
