"""Stored items as JSON, and the addresses of their photos."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict
from urllib.parse import quote, urlencode

from app.answers.fragments import fragments
from app.defaults import DEFAULT_COLLECTION
from app.schemas.fields import Corners
from app.schemas.items import ItemOut, MagnitudeOut, MagnitudesOut, PhotoOut, StoredItem
from index.items import Entry, Item, PhotoInfo, Picture
from models.types import FragmentBag


def item_out(collection: str, stored: Item) -> ItemOut:
    """A stored item as JSON."""
    return ItemOut(
        id=stored.id,
        metadata=stored.metadata,
        sentences=list(stored.sentences),
        **about_photos(collection, stored.id, stored.photos),
        stamp=stored.stamp,
        notes=list(stored.notes),
    )


def write_stored_item(collection: str, entry: Entry, notes: Sequence[str]) -> StoredItem:
    """An item as it was just stored, as JSON."""
    return StoredItem(
        id=entry.id,
        metadata=dict(entry.metadata),
        sentences=list(entry.sentences),
        **about_photos(collection, entry.id, entry.pictures),
        stamp=entry.stamp,
        notes=list(notes),
    )


def magnitudes_of(stored: Entry) -> MagnitudesOut:
    """The lengths |v_i| and |s_t| of an item's fragments as JSON.

    (Karpathy & Fei-Fei 2015, figure 8 and table 4.)
    """
    return MagnitudesOut(
        id=stored.id,
        photos=[_rank(bag) for bag in stored.images],
        sentences=[_rank(bag) for bag in stored.bags],
    )


def _rank(bag: FragmentBag) -> list[MagnitudeOut]:
    """A bag's fragments as JSON, the longest first."""
    lengths = bag.vectors.norm(dim=1)
    shown = fragments(bag)
    return [
        MagnitudeOut(**shown[at].model_dump(), fragment=at, magnitude=float(lengths[at]))
        for at in lengths.argsort(descending=True, stable=True).tolist()
    ]


class AboutPhotos(TypedDict):
    """Fields about an item's photos; those of the first one come first."""

    image: str | None
    width: int
    height: int
    images: list[PhotoOut]


def about_photos(collection: str, item: str, photos: Sequence[PhotoInfo | Picture]) -> AboutPhotos:
    """An item's photos as JSON."""
    images = [
        PhotoOut(
            image=photo_address(collection, item, number), width=photo.width, height=photo.height
        )
        for number, photo in enumerate(photos)
    ]
    first = images[0] if images else PhotoOut(image="", width=0, height=0)
    return AboutPhotos(
        image=first.image or None, width=first.width, height=first.height, images=images
    )


def notes_of(shown: Iterable[Item]) -> list[str]:
    """Notes on items not shown as stored."""
    return [f"item {item.id!r}: {note}" for item in shown for note in item.notes]


def photo_address(collection: str, item: str, photo: int = 0) -> str:
    """The address of one of an item's photos."""
    return _address(collection, item, photo, "image", {})


def crop_address(collection: str, item: str, photo: int, box: Corners) -> str:
    """The address of a part of one of an item's photos."""
    return _address(collection, item, photo, "crop", {"box": ",".join(map(str, box))})


def _address(
    collection: str, item: str, photo: int, picture: str, parameters: dict[str, str]
) -> str:
    parameters |= {"collection": collection} if collection != DEFAULT_COLLECTION else {}
    parameters |= {"photo": str(photo)} if photo else {}
    query = f"?{urlencode(parameters, quote_via=quote, safe=',')}" if parameters else ""
    return f"/items/{quote(item, safe='')}/{picture}{query}"


def photo_address_of(collection: str, stored: Item) -> str | None:
    """The address of a stored item's first photo; None without one."""
    return photo_address(collection, stored.id) if stored.photos else None


def second_of(stored: Item, photo: int) -> float | None:
    """The second of a video's photo; None for other items."""
    seconds = stored.metadata.get("seconds")
    if not isinstance(seconds, list) or photo >= min(len(seconds), len(stored.photos)):
        return None
    second = seconds[photo]
    return float(second) if isinstance(second, int | float) else None


def size_of(stored: Item, photo: int) -> dict[str, int]:
    """The size of an item's photo; 0 if removed since the search."""
    if photo >= len(stored.photos):
        return {"width": 0, "height": 0}
    return {"width": stored.photos[photo].width, "height": stored.photos[photo].height}
