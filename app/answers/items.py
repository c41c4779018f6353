"""Stored items as JSON, and the addresses of their photos."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypedDict
from urllib.parse import quote

from app.answers.fragments import fragments
from app.defaults import DEFAULT_COLLECTION
from app.http.addresses import address_of
from app.schemas.fields import Corners
from app.schemas.items import ItemOut, MagnitudeOut, MagnitudesOut, PhotoOut, StoredItem
from index.items import Entry, Item, PhotoInfo, Picture
from models.types import FragmentBag

VERSION = 16  # digits of a photo's digest in the address of its thumbnail


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


class AboutPhoto(TypedDict):
    """The address of a photo's thumbnail, and the size of its display copy."""

    thumbnail: str | None
    width: int
    height: int


class AboutPhotos(AboutPhoto):
    """Fields about an item's photos; those of the first one come first."""

    image: str | None
    images: list[PhotoOut]


def about_photos(collection: str, item: str, photos: Sequence[PhotoInfo | Picture]) -> AboutPhotos:
    """An item's photos as JSON."""
    images = [
        PhotoOut(
            image=photo_address(collection, item, number),
            **about_photo(collection, item, photos, number),
        )
        for number in range(len(photos))
    ]
    image = images[0].image if images else None
    return {"image": image, **about_photo(collection, item, photos, 0), "images": images}


def about_photo(
    collection: str, item: str, photos: Sequence[PhotoInfo | Picture], number: int
) -> AboutPhoto:
    """Fields about one of an item's photos; empty for one that is not there."""
    if number >= len(photos):
        return {"thumbnail": None, "width": 0, "height": 0}
    photo = photos[number]
    parameters = {"size": "small", "v": photo.digest[:VERSION]}
    return {
        "thumbnail": _address(collection, item, number, "image", parameters),
        "width": photo.width,
        "height": photo.height,
    }


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
    query = "&".join([f"{name}={_escape(value)}" for name, value in parameters.items()])
    return address_of(f"/items/{_escape(item, safe='')}/{picture}{'?' if query else ''}{query}")


@lru_cache(maxsize=1024)  # an answer writes the same values many times
def _escape(value: str, safe: str = ",") -> str:
    """Escape a part of an address."""
    return quote(value, safe)


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
