"""Thumbnails of display copies: small WebPs, of which the newest stay in memory.

One takes some 15 ms to make, and its address never shows another picture, so browsers keep
it for good: a store on disk, which deletions would have to follow, would save little.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Literal

from cachetools import LRUCache

from models.vision.photo_decoding import thumbnail_webp

Size = Literal["small", "medium"]
SIDES: dict[Size, int] = {"small": 320, "medium": 640}  # pixels of the long side
MOST_BYTES = 64 * 2**20


class Thumbnails:
    """Makes thumbnails, and holds the newest; for many threads at once."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Hold at most `most_bytes` of them."""
        self._made = LRUCache[tuple[str, Size], bytes](most_bytes, getsizeof=len)
        self._lock = Lock()

    def get(self, digest: str, size: Size, read: Callable[[], bytes]) -> bytes:
        """Get the thumbnail of a picture by its digest.

        `read` reads the picture, a JPEG; its errors pass through.
        """
        with self._lock:
            made = self._made.get((digest, size))
        if made is None:
            made = thumbnail_webp(read(), SIDES[size])
            with self._lock:
                if len(made) <= self._made.maxsize:
                    self._made[digest, size] = made
        return made
