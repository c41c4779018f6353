"""Originals: the files of imported photos, below served folders."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.imports.folders.moves import split_stamp
from app.imports.sources import spell, write_stamp
from index.items import Item

OPAQUE = "application/octet-stream"
# What browsers may show. Other types, such as HTML and SVG, could run scripts.
SHOWN = {
    *("image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp"),
    *("image/tiff", "image/heic", "image/heif", "video/mp4", "video/quicktime", "video/webm"),
}
ENDINGS = {  # that Python does not know everywhere
    **{".heic": "image/heic", ".heif": "image/heif", ".hif": "image/heif"},
    **{".webp": "image/webp", ".avif": "image/avif", ".jfif": "image/jpeg", ".m4v": "video/mp4"},
}


@dataclass(frozen=True, slots=True)
class Original:
    """The file of a photo: media type, tag and status."""

    path: Path
    media_type: str
    tag: str
    status: os.stat_result


def has_original(item: Item, folders: Sequence[Path]) -> bool:
    """Return whether an imported photo's file is below one of some folders."""
    try:
        find_original(item, folders)
    except LookupError:
        return False
    return True


def find_original(item: Item, folders: Sequence[Path]) -> Original:
    """Find the file of an imported photo below one of some folders.

    LookupError without one: for an item of no file, one that is elsewhere, gone or changed.
    Links are followed first, so none leads out of the folders.
    """
    if not folders:
        raise LookupError("originals are not served: TESSERA_ORIGINALS names their folders")
    if item.source is None or not os.path.isabs(item.source):  # noqa: PTH117 - an address is no path
        raise LookupError(f"item {item.id!r:.220} has no file on this machine")
    path = _resolve(item.source)
    roots = [folder.resolve() for folder in folders]
    gone = (
        f"the file of item {item.id!r:.220} is gone, or is in none of the folders of "
        "TESSERA_ORIGINALS"
    )
    if path is None or not any(path.is_relative_to(root) for root in roots):
        raise LookupError(gone)
    try:
        status = path.stat()
    except OSError as failed:  # meanwhile
        raise LookupError(gone) from failed
    state = split_stamp(item.stamp or "")[0]
    if write_stamp(status) != state:
        raise LookupError(
            f"the file of item {item.id!r:.220} has changed since it was indexed: "
            "`tessera index` takes it in"
        )
    return Original(path, _guess_type(path), state, status)


def _resolve(place: str) -> Path | None:
    """Find the regular file of a place, with all links followed."""
    for spelled in spell(place):
        if os.path.isfile(spelled):  # noqa: PTH113 - bytes are no Path
            return Path(os.fsdecode(os.path.realpath(spelled)))
    return None


def _guess_type(path: Path) -> str:
    ending = path.suffix.lower()
    guessed = ENDINGS.get(ending) or mimetypes.guess_type(f"a{ending}")[0]
    return guessed if guessed in SHOWN else OPAQUE
