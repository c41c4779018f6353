"""Ranges of buckets: which items of a collection a shard holds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

BUCKETS = 2**16  # see index.items.bucket_of


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets from `first` on, up to and without `end`."""

    first: int = 0
    end: int = BUCKETS

    def __post_init__(self) -> None:
        if not 0 <= self.first < self.end <= BUCKETS:
            raise ValueError(
                f"buckets {self.first} to {self.end} are no range: there are 0 to {BUCKETS:,}"
            )

    @property
    def share(self) -> float:
        """The share of all buckets, in (0, 1]."""
        return (self.end - self.first) / BUCKETS


ALL = Buckets()


def cut(shards: int) -> list[Buckets]:
    """All buckets as ranges of like size, one for each shard.

    >>> cut(2)
    [Buckets(first=0, end=32768), Buckets(first=32768, end=65536)]
    """
    if not 1 <= shards <= BUCKETS:
        raise ValueError(f"a collection has 1 to {BUCKETS:,} shards, got {shards}")
    ends = [BUCKETS * number // shards for number in range(shards + 1)]
    return [Buckets(first, end) for first, end in pairwise(ends)]
