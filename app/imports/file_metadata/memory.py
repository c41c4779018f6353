"""Digests of a stored file's metadata, kept in its stamp.

So what an item's owner has changed since is known, and stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from app.engine.drafts import Draft
from index.database.series_rows import note, read_noted
from index.items import Item
from index.photos.visible_text import BOXES, TEXT

NAMES = (  # keys of metadata that a photo's file states
    *("taken", "taken_from", "camera", "lens", "latitude", "longitude", "city", "region"),
    *("country", "orientation", "width", "height", "rating", "keywords", "title"),
    *("description", "people", "duration", "seconds", TEXT, BOXES),
)
PLACE = ("file", "folder", "companions")  # of the file itself


def state_of(stamp: str | None) -> str | None:
    """Return a stamp without digests: the state of its files."""
    return stamp and stamp.partition(" ")[0]


def remember(stamp: str | None, read: Mapping[str, Any]) -> str:
    """Add digests of a file's metadata to its stamp.

    >>> remember("12-34", {"rating": 5, "file": "a.jpg"})
    '12-34 rating=2e03a7'
    """
    digests = (f"{key}={_digest(read[key])}" for key in NAMES if key in read)
    return f"{stamp} {','.join(digests)}"


def merge_draft(draft: Draft, stored: Item | None) -> Draft:
    """Keep an owner's changes of metadata when a file is read again."""
    if stored is None or draft.stamp is None or " " not in draft.stamp:
        return draft
    stamp = note(draft.stamp, read_noted(stored.stamp))
    return replace(draft, metadata=_merge(stored, draft.metadata), stamp=stamp)


def _merge(stored: Item, read: Mapping[str, Any]) -> dict[str, Any]:
    digests = (stored.stamp or "").partition(" ")[2].split(",")
    remembered = dict(entry.split("=") for entry in digests if entry.count("=") == 1)
    owned = {key for key in NAMES if _digest_of(stored.metadata, key) != remembered.get(key)}
    if TEXT in owned:
        owned.add(BOXES)  # those of another text are not its own
    merged = {key: value for key, value in read.items() if key not in owned}
    return merged | {
        key: value
        for key, value in stored.metadata.items()
        if key in owned or key not in (*NAMES, *PLACE)
    }


def _digest_of(metadata: Mapping[str, Any], key: str) -> str | None:
    return _digest(metadata[key]) if key in metadata else None


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=3).hexdigest()
