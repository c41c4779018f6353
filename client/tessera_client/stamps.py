"""Stamps of items: digests of content and metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from tessera_client.items import Image, NewItem, is_address
from tessera_client.json_values import convert, convert_metadata, to_list


def add_stamp(item: NewItem) -> NewItem:
    """Return an item with metadata of JSON and a stamp.

    The stamp is the caller's, or digests of content and metadata. OSError for a photo that is not
    there, TypeError or ValueError for what is no JSON.
    """
    looks = [_describe_image(photo) for photo in item.photos]
    metadata = convert_metadata(item.metadata or {})
    sentences = convert(to_list(item.sentences, "sentences") or [], "sentences")
    digests = f"{_digest([looks, sentences])}.{_digest(metadata)}"
    return replace(item, metadata=metadata, stamp=digests if item.stamp is None else item.stamp)


def has_same_content(was: str | None, item: NewItem) -> bool:
    """Return whether only the metadata of an item differ."""
    parts = (was or "").split(".")
    ours = len(parts) == 2 and len(parts[0]) == len(parts[1]) == 32
    return ours and (item.stamp or "").startswith(f"{parts[0]}.") and not _has_null(item.metadata)


def _describe_image(image: Image) -> str:
    """Return a digest, an address, or a path with size and time."""
    if isinstance(image, bytes):
        return sha256(image).hexdigest()
    if is_address(image):
        return str(image)
    status = Path(image).stat()
    return f"{image} {status.st_size} {status.st_mtime_ns}"


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _has_null(value: Any) -> bool:
    """Return whether an object holds a null.

    Merge patches cannot express one.
    """
    if isinstance(value, Mapping):
        return any(_has_null(part) for part in value.values())
    return value is None
