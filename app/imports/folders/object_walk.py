"""Photos below folders of object stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pathspec import GitIgnoreSpec

from app.imports.folder import (
    NO_MEDIA,
    NOTHING,
    PHOTO_ENDINGS,
    READING,
    SYSTEM_FOLDERS,
    TABLE_ENDINGS,
)
from app.imports.folders.ignoring import Patterns
from app.imports.folders.objects import (
    ObjectFolder,
    ObjectState,
    StoredObject,
    is_excluded,
    make_stamp,
)
from app.imports.photo_files import FileReading
from app.imports.sources import ImportOutcome, ItemSource, name_file
from index.items import check_new_id
from models.vision.photo_decoding import is_photo


def find_objects(
    folder: ObjectFolder, exclude: GitIgnoreSpec = NOTHING, reading: FileReading = READING
) -> Iterator[ItemSource | ImportOutcome]:
    """Find the photos below a folder of an object store.

    A refusal if it cannot be listed.
    """
    try:
        objects, patterns = folder.list_objects(), folder.read_patterns()
    except (OSError, ValueError) as failed:
        reason = f"it cannot be read: {getattr(failed, 'strerror', None) or failed}"
        yield ImportOutcome(folder.url, "refused", reason)
        return
    without_media = {
        path.rpartition("/")[0] for path in objects if path.rpartition("/")[2] == NO_MEDIA
    }
    for path, state in objects.items():
        place = f"{folder.url}/{path}"
        try:
            kind = _skip(path, exclude, patterns, without_media) or _skip_kind(folder, path)
        except OSError as failed:
            yield ImportOutcome(place, "refused", f"it cannot be read: {failed.strerror}")
            continue
        if kind:
            yield ImportOutcome(place, "unread", kind)
        else:
            yield _make_source(folder, path, state, reading)


def _skip(
    path: str,
    exclude: GitIgnoreSpec,
    patterns: Mapping[str, Patterns],
    without_media: set[str],
) -> str:
    """Return the kind of an object left out by its path."""
    *folders, name = path.split("/")
    if name.startswith("."):
        return "hidden files"
    if any(part.startswith(".") for part in folders):
        return "files of hidden folders"
    if any(part.lower() in SYSTEM_FOLDERS for part in folders):
        return "files of folders of a storage or system"
    if is_excluded(path, exclude, patterns):
        return "excluded files"
    if any("/".join(folders[:end]) in without_media for end in range(1, len(folders) + 1)):
        return f"files of folders with a file {NO_MEDIA}"
    return ""


def _skip_kind(folder: ObjectFolder, path: str) -> str:
    """Return the kind of an object; empty for a photo."""
    ending = PurePosixPath(path).suffix.lower()
    if ending in PHOTO_ENDINGS:
        return ""
    if ending in TABLE_ENDINGS:
        return f"{ending} files, which are imported from a disk"
    if not ending and is_photo(StoredObject(folder.url, path).read_head()):
        return ""
    return f"{ending} files" if ending else "files without an ending"


def _make_source(
    folder: ObjectFolder, path: str, state: ObjectState, reading: FileReading
) -> ItemSource | ImportOutcome:
    """Return the item of a photo, with its path as its id."""
    name, place = f"{folder.name}/{path}", f"{folder.url}/{path}"
    try:
        item = name_file(name)
        check_new_id(item)
    except ValueError as refused:
        return ImportOutcome(place, "refused", str(refused))
    photo = StoredObject(folder.url, path)
    stamp = f"{make_stamp(state)}-{reading.stamp}"
    metadata = {"file": name, "folder": name.rpartition("/")[0]}
    return ItemSource(
        item, place, stamp, (photo,), metadata=metadata, reading=reading, movable=True
    )
