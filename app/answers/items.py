"""Stored items as JSON, and the addresses of their photos."""

from __future__ import annotations

from urllib.parse import quote

from app.defaults import DEFAULT_COLLECTION
from app.schemas.items import ItemOut
from index.items import Item


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


def photo_address(collection: str, item: str) -> str:
    """Where an item's photo is."""
    query = "" if collection == DEFAULT_COLLECTION else f"?collection={quote(collection, safe='')}"
    return f"/items/{quote(item, safe='')}/image{query}"


def photo_address_of(collection: str, stored: Item) -> str | None:
    """Where a stored item's photo is; None for an item without one."""
    return photo_address(collection, stored.id) if stored.width else None
