"""Storage: where one service keeps its items, pictures and segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from index.items import ITEM_TEXT

BUCKETS = 2**16  # see index.items.bucket_of


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets from `first` up to, but without, `end`."""

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
    """Cut all buckets into ranges of equal size, one for each shard.

    >>> cut(2)
    [Buckets(first=0, end=32768), Buckets(first=32768, end=65536)]
    """
    if not 1 <= shards <= BUCKETS:
        raise ValueError(f"a collection has 1 to {BUCKETS:,} shards, got {shards}")
    ends = [BUCKETS * number // shards for number in range(shards + 1)]
    return [Buckets(first, end) for first, end in pairwise(ends)]


WAIT = 5.0  # seconds
DAY = 86_400  # seconds
VERIFY = 45.0  # seconds


@dataclass(frozen=True, slots=True)
class Storage:
    """A data folder, and the places of data outside of it.

    `database` is the URL of a database, a SQLite file in the folder if empty; `pictures` a folder
    or the URL of an object store, a folder below the data folder if empty. Transactions wait up to
    `wait` seconds for a lock. Pictures without an item are deleted `sweep_after` seconds after
    this was first noticed. With `shared`, searches include what any process has written, and
    not only their own: each asks the database.
    `item_text` limits the bytes of an item's metadata and sentences.
    Published segments are read again and compared with their checksums within `verify` seconds.
    Only bags of `buckets` are searched and written to segments; a shard has some of them.
    """

    folder: Path
    database: str = field(default="", repr=False)  # it may hold a password
    pictures: str = ""
    wait: float = WAIT
    shared: bool = False
    item_text: int = ITEM_TEXT
    verify: float = VERIFY
    buckets: Buckets = ALL
    sweep_after: int = DAY
