"""Storage: where one service keeps its items, pictures and segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from index.database.buckets import ALL, Buckets
from index.items import ITEM_TEXT

WAIT = 5.0  # seconds
DAY = 86_400  # seconds
VERIFY = 45.0  # seconds


@dataclass(frozen=True, slots=True)
class Storage:
    """A data folder, and what lies elsewhere than in it.

    `database` is the URL of a database, a SQLite file in the folder if empty; `pictures` a folder
    or the URL of an object store, a folder below the data folder if empty. Transactions wait up to
    `wait` seconds for a lock. Pictures that no item has are deleted `sweep_after` seconds after
    that was first seen. With `shared`, searches include what any process has written, and
    not only what their own has: each asks the database.
    `item_text` is how many bytes of metadata and sentences an item may have.
    Published segments are read again and compared with their checksums within `verify` seconds.
    `buckets` are those whose bags are searched and written to segments: not all for a shard.
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
