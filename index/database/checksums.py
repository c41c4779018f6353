"""Checksums of items and bags; reading refuses damaged ones.

An item's row has them all in one value: 64-bit XXH3 of the item itself, then of the bags of
its sentences, then of those of its photos, the last photo first. So the bag at a position p has the
place p + 1 from the front if it is a sentence's, and -p from the back if it is a photo's. The
item's own checksum covers the others, its sentences' texts and the rows of its pictures.
"""

from __future__ import annotations

import json
import logging
import struct
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

import xxhash

from index.database.errors import Damaged

SIZE = 8  # bytes of a checksum
ITEM = ("revision", "id", "bucket", "metadata", "source", "stamp")
PICTURE = ("position", "width", "height", "digest", "name")
NAMED = 1_000  # damaged items that are logged, each once

log = logging.getLogger(__name__)


class ItemDamaged(Damaged):
    """The stored rows of an item differ from what was put."""

    def __init__(self, item: str) -> None:
        super().__init__(
            f"item {item!r:.220} is damaged: what the database has of it is not what was stored; "
            "put it again, import its file again after `tessera check --repair`, or restore a "
            "snapshot"
        )


class Log:
    """A log that names each damaged item once."""

    def __init__(self) -> None:
        self._named: set[tuple[int, int]] = set()
        self._lock = Lock()

    def add(self, collection: int, revision: int, item: str) -> None:
        """Log that an answer leaves an item out."""
        key = collection, revision
        with self._lock:
            if key in self._named or len(self._named) >= NAMED:
                return
            self._named.add(key)
        log.error("%s", ItemDamaged(item))


LOG = Log()


def checksum_item(
    item: Mapping[Any, Any],
    pictures: Iterable[Mapping[Any, Any]],
    texts: Sequence[str],
    bags: bytes,
) -> bytes:
    """Compute an item's checksum from its row, pictures' rows and bags' checksums."""
    content = [
        *(item[name] for name in ITEM),
        *([picture[name] for name in PICTURE] for picture in pictures),
        list(texts),
        bags.hex(),
    ]
    return xxhash.xxh3_64_digest(json.dumps(content).encode())


def checksum_bag(item: str, revision: int, position: int, details: bytes, vectors: bytes) -> bytes:
    """Compute the checksum of one bag of an item."""
    key = struct.pack("<qq", revision, position) + item.encode("utf-8", "surrogatepass")
    seed = xxhash.xxh3_64_intdigest(key)
    return xxhash.xxh3_64_digest(vectors, xxhash.xxh3_64_intdigest(details, seed))


def checksums_of(
    item: Mapping[Any, Any],
    pictures: Iterable[Mapping[Any, Any]],
    bags: Iterable[Mapping[Any, Any]],
) -> bytes:
    """Compute all checksums of an item from its rows."""
    by_place = sorted(bags, key=lambda bag: (bag["position"] < 0, bag["position"]))
    summed = b"".join(
        checksum_bag(item["id"], item["revision"], bag["position"], bag["details"], bag["vectors"])
        for bag in by_place
    )
    texts = [bag["text"] for bag in by_place if bag["position"] >= 0]
    shown = sorted(pictures, key=lambda picture: -picture["position"])
    return checksum_item(item, shown, texts, summed) + summed


def is_sound_item(
    item: Mapping[Any, Any], pictures: Iterable[Mapping[str, Any]], texts: Sequence[str]
) -> bool:
    """Return whether an item has its checksum, or none.

    Its bags have their own.
    """
    stored = item["checksums"]
    if stored is None:
        return True
    try:
        return bool(stored[:SIZE] == checksum_item(item, pictures, texts, stored[SIZE:]))
    except (TypeError, AttributeError):  # a row whose types are damaged
        return False


def restamp(
    item: Mapping[Any, Any], pictures: Iterable[Mapping[str, Any]], texts: Sequence[str], stamp: str
) -> bytes | None:
    """Compute an item's checksums with another stamp.

    Those of its bags stay as they are, so what is damaged stays so.
    """
    stored: bytes | None = item["checksums"]
    pictures = list(pictures)
    if stored is None or not is_sound_item(item, pictures, texts):
        return stored
    bags = stored[SIZE:]
    return checksum_item({**item, "stamp": stamp}, pictures, texts, bags) + bags


def is_sound_bag(
    checksums: bytes | None, item: str, revision: int, position: int, details: bytes, vectors: bytes
) -> bool:
    """Return whether a bag has its checksum, or its item has none."""
    if checksums is None:
        return True
    start = (SIZE if position >= 0 else len(checksums)) + SIZE * position
    try:
        return checksums[start : start + SIZE] == checksum_bag(
            item, revision, position, details, vectors
        )
    except (TypeError, AttributeError):
        return False
