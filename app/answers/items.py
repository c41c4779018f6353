"""Stored items as JSON, and the addresses of their photos."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from app.defaults import DEFAULT_COLLECTION
from app.schemas.items import ItemOut, StoredItem
from index.items import Entry, Item


def item_out(collection: str, stored: Item) -> ItemOut:
    """A stored item as JSON."""
    return ItemOut(
        id=stored.id,
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        image=photo_address_of(collection, stored),
        width=stored.width,
        height=stored.height,
    )


def stored_item(collection: str, entry: Entry, notes: Sequence[str]) -> StoredItem:
    """An item as it was just stored, whatever became of it since."""
    picture = entry.picture
    return StoredItem(
        id=entry.id,
        metadata=dict(entry.metadata),
        sentences=list(entry.sentences),
        image=photo_address(collection, entry.id) if picture else None,
        width=picture.width if picture else 0,
        height=picture.height if picture else 0,
        notes=list(notes),
    )


def photo_address(collection: str, item: str) -> str:
    """Where an item's photo is."""
    query = "" if collection == DEFAULT_COLLECTION else f"?collection={quote(collection, safe='')}"
    return f"/items/{quote(item, safe='')}/image{query}"


def photo_address_of(collection: str, stored: Item) -> str | None:
    """Where a stored item's photo is; None for an item without one."""
    return photo_address(collection, stored.id) if stored.width else None
