"""Calls of stored items: one, a page of them, many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import httpx2

from tessera_client.calls.call import Box, Call, Filter, Incomplete, content_of, model_of, path_of
from tessera_client.items import Image, image_text, is_address, list_photos, read_image
from tessera_client.json_values import convert_metadata, to_list, write_json
from tessera_client.models import (
    Deletion,
    Duplicates,
    ImportStatus,
    Item,
    Items,
    Magnitudes,
    Restoration,
    SingleItem,
    StoredItem,
)


def put_item(
    id: str,  # noqa: A002 - the service's own name
    *,
    image: Image | None = None,
    images: Sequence[Image] = (),
    sentences: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    read_metadata: bool = False,
) -> Call[StoredItem]:
    """Store an item and replace the former one; searches find it immediately."""
    fields: dict[str, Any] = {
        "metadata": convert_metadata(metadata or {}),
        "sentences": to_list(sentences, "sentences"),
    }
    fields |= {"read_metadata": True} if read_metadata else {}  # services before it refuse it
    photos = list_photos(image, images)
    if photos and all(map(is_address, photos)):
        return Call("PUT", _item(id), model_of(StoredItem), fields | {"images": photos})
    read = tuple(map(read_image, photos))
    return Call("PUT", _item(id), model_of(StoredItem), fields, read[0] if read else None, read[1:])


def get_item(id: str) -> Call[SingleItem]:  # noqa: A002 - the service's own name
    """Get a stored item."""
    return Call("GET", _item(id), model_of(SingleItem))


def get_tagged_item(
    id: str,  # noqa: A002 - the service's own name
) -> Call[tuple[SingleItem, str | None]]:
    """Get a stored item and its ETag."""
    read = model_of(SingleItem)
    return Call("GET", _item(id), lambda response: (read(response), response.headers.get("etag")))


def item_magnitudes(id: str) -> Call[Magnitudes]:  # noqa: A002 - the service's own name
    """The longest vectors of an item's regions and words."""
    return Call("GET", f"{_item(id)}/magnitudes", model_of(Magnitudes))


def item_image(id: str, photo: int = 0) -> Call[bytes]:  # noqa: A002 - the service's own name
    """The display copy of one of an item's photos, a JPEG."""
    query = {"photo": photo}
    return Call("GET", f"{_item(id)}/image", content_of, query=query, accept="image/jpeg")


def item_crop(
    id: str,  # noqa: A002 - the service's own name
    box: Box,
    photo: int = 0,
    *,
    webp: bool = False,
) -> Call[bytes]:
    """A part of an item's photo as JPEG or WebP."""
    query = {"photo": photo, "box": ",".join(map(str, box))}
    accept = "image/webp" if webp else "image/jpeg"
    return Call("GET", f"{_item(id)}/crop", content_of, query=query, accept=accept)


def item_original(id: str) -> Call[bytes]:  # noqa: A002 - the service's own name
    """The original file of an imported photo."""
    return Call("GET", f"{_item(id)}/original", content_of, accept="*/*")


def duplicates(*, limit: int = 20, cursor: str | None = None) -> Call[Duplicates]:
    """A page of series of near-duplicate photos."""
    query = {"limit": limit, "cursor": cursor}
    return Call("GET", "/duplicates", model_of(Duplicates), query=query)


def delete_item(id: str) -> Call[None]:  # noqa: A002 - the service's own name
    """Delete an item; no search finds it from now on."""
    return Call("DELETE", _item(id), lambda _: None)


def patch_item(
    id: str,  # noqa: A002 - the service's own name
    metadata: Mapping[str, Any] | None,
    *,
    images: Sequence[int | Image] | None = None,
    stamp: str | None = None,
    match: str | None = None,
) -> Call[Item]:
    """Merge a patch into an item's metadata; None deletes all keys.

    A null deletes its key.

    `images` are all its photos: numbers of photos that stay, and new ones. With `match`, the patch
    is refused with status 412 unless it is the item's ETag.
    """
    sent: dict[str, Any] = {"metadata": None if metadata is None else convert_metadata(metadata)}
    if (photos := to_list(images, "images")) is not None:
        sent["images"] = [
            photo if isinstance(photo, int) else image_text(photo) for photo in photos
        ]
    if stamp is not None:
        sent["stamp"] = stamp
    return Call("PATCH", _item(id), model_of(Item), document=sent, match=match)


def delete_items(
    *,
    ids: Sequence[str] | None = None,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    dry_run: bool = False,
) -> Call[Deletion]:
    """Delete items by ids or by a filter.

    A dry run counts them.
    """
    fields = {
        "ids": to_list(ids, "ids"),
        "filter": None if filter is None else dict(filter),
        "dry_run": dry_run,
    }
    return Call("POST", "/items/delete", model_of(Deletion), fields)


def restore_items(ids: Sequence[str]) -> Call[Restoration]:
    """Let imports store deleted photos of folders again.

    They come with the next import of their folder; those of no folder are `unknown`.
    """
    return Call("POST", "/items/restore", model_of(Restoration), {"ids": to_list(ids, "ids")})


def list_items(
    *,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    limit: int = 100,
    cursor: str | None = None,
) -> Call[Items]:
    """A page of items, in the order of their ids."""
    query = {"limit": limit, "cursor": cursor, "filter": filter and write_json(filter, "filter")}
    return Call("GET", "/items", model_of(Items), query=query)


def upload(lines: bytes, *, create: bool = True) -> Call[list[ImportStatus]]:
    """Store the items in lines of JSON; a status for each.

    Makes the collection if it is new; without `create` that is refused, with status 404.
    """
    query = {} if create else {"create": "false"}
    accept, count = "application/x-ndjson", sum(1 for line in lines.splitlines() if line.strip())
    read = partial(_read_statuses, count)
    return Call("POST", "/items", read, lines=lines, query=query, accept=accept)


def _item(id: str) -> str:  # noqa: A002 - the service's own name
    return path_of("items", id)


def _read_statuses(count: int, response: httpx2.Response) -> list[ImportStatus]:
    """Read the statuses of `count` items; Incomplete if there are fewer."""
    lines = response.content.splitlines()
    if len(lines) < count:
        raise Incomplete(
            f"{len(lines)} of {count} items have a status, as the answer breaks off: send the "
            "items again"
        )
    return [ImportStatus.model_validate_json(line) for line in lines]
