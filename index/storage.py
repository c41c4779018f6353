"""Storage: where one service keeps its items, pictures and segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from index.buckets import ALL, Buckets

WAIT = 5.0  # seconds
VERIFY = 45.0  # seconds


@dataclass(frozen=True, slots=True)
class Storage:
    """A data folder, and what lies elsewhere than in it.

    `database` is the URL of a database, a SQLite file in the folder if empty; `pictures` a folder
    or the URL of an object store, a folder below the data folder if empty. Transactions wait up to
    `wait` seconds for a lock. With `shared`, searches include what any process has written, and
    not only what their own has: each asks the database.
    Published segments are read again and compared with their checksums within `verify` seconds.
    `buckets` are those whose bags are searched and written to segments: not all for a shard.
    """

    folder: Path
    database: str = field(default="", repr=False)  # it may hold a password
    pictures: str = ""
    wait: float = WAIT
    shared: bool = False
    verify: float = VERIFY
    buckets: Buckets = ALL
