"""Sources read into drafts: their photos decoded, and their metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.engine.drafts import Draft, PhotoFile
from app.engine.refusals import reason_of
from app.imports.fetching import Fetch
from app.imports.file_metadata.memory import remember
from app.imports.file_metadata.pairs import is_footage
from app.imports.file_metadata.reading import Sidecar
from app.imports.file_metadata.regular_files import read_regular
from app.imports.file_metadata.xmp import LARGEST
from app.imports.folders.objects import StoredObject
from app.imports.photo_files import FileDecoder, FileReading
from app.imports.sources import ImportOutcome, ItemSource, PhotoPlace
from index.photos.visible_text import BOXES, TEXT, write_text
from models.vision.photo_decoding import ImageError
from models.vision.visible_words import VisibleWord


def read(
    source: ItemSource, most_bytes: int, decode: FileDecoder, fetch: Fetch
) -> Draft | ImportOutcome:
    """Decode a source's photos, and read their metadata if wanted."""
    draft = Draft(
        source.id,
        source.metadata,
        sentences=source.sentences,
        source=source.place,
        stamp=source.stamp,
        spare_id=source.spare_id,
    )
    try:
        if source.reading is not None:
            return _read_described(source, draft, source.reading, most_bytes, decode, fetch)
        photos = (_get_bytes(photo, most_bytes, fetch) for photo in source.photos)
        return draft.with_photos(photos, decode)
    except Exception as unreadable:  # noqa: BLE001 - one photo must not end the import of others
        return ImportOutcome(source.place, "refused", reason_of(unreadable))


def _read_described(
    source: ItemSource,
    draft: Draft,
    reading: FileReading,
    most_bytes: int,
    decode: FileDecoder,
    fetch: Fetch,
) -> Draft:
    """Decode photos and read their metadata, below the source's own."""
    sidecars, files = _read_sidecars(source.sidecars), list[PhotoFile]()

    def read_photo(photo: PhotoPlace) -> PhotoFile:
        if isinstance(photo, Path) and is_footage(photo):
            return decode.read(photo, sidecars)
        return decode.read(_get_bytes(photo, most_bytes, fetch), sidecars)

    for photo in source.photos:
        try:
            files.append(read_photo(photo))
        except (ImageError, OSError):
            if not source.spares:
                raise
            files.append(_read_spare(source.spares, read_photo))
    first = source.photos[0] if source.photos else None
    read = reading.complete(_describe(files), first if isinstance(first, Path) else None)
    stamp = remember(draft.stamp, read) if reading.of_folder else draft.stamp
    return replace(_add_files(draft, files, read), stamp=stamp)


def add_photos(
    draft: Draft, photos: Iterable[bytes], decode: FileDecoder, reading: FileReading | None
) -> Draft:
    """Decode photos, and add their metadata to a draft's own if wanted."""
    if reading is None:
        return draft.with_photos(photos, decode)
    files = [decode.read(photo) for photo in photos]
    return _add_files(draft, files, reading.complete(_describe(files)))


def _describe(files: Sequence[PhotoFile]) -> dict[str, Any]:
    """Return the metadata of files, the first one's first, and all text."""
    facts: dict[str, Any] = {}
    for file in files:
        facts = {**file.metadata, **facts}
    return facts | write_text([words for file in files for words in _list_words(file)])


def _list_words(file: PhotoFile) -> Sequence[tuple[VisibleWord, ...]]:
    return file.words or [()] * len(file.copies)


def _add_files(draft: Draft, files: Iterable[PhotoFile], read: Mapping[str, Any]) -> Draft:
    """Add photos, and their metadata below a draft's own.

    A draft's own text has no boxes of another.
    """
    stated = {
        key: value for key, value in read.items() if key != BOXES or TEXT not in draft.metadata
    }
    for file in files:
        draft = draft.with_file(file)
    return replace(draft, metadata={**stated, **draft.metadata})


def _read_spare(spares: Sequence[Path], read_photo: Callable[[PhotoPlace], PhotoFile]) -> PhotoFile:
    """Read the first readable of the other files of a broken photo."""
    for spare in spares[:-1]:
        with suppress(ImageError, OSError):
            return read_photo(spare)
    return read_photo(spares[-1])


def _read_sidecars(files: Sequence[Path]) -> list[Sidecar]:
    """Read sidecars; unreadable ones are empty, and so broken."""
    sidecars = []
    for file in files:
        data = b""
        with suppress(OSError, ValueError):
            data = read_regular(file, LARGEST)
        sidecars.append(Sidecar(file.suffix.lower(), data))
    return sidecars


def _get_bytes(photo: PhotoPlace, most: int, fetch: Fetch) -> bytes:
    if isinstance(photo, StoredObject):
        return photo.read(most)
    if isinstance(photo, Path):
        return read_regular(photo, most)
    return fetch(photo) if isinstance(photo, str) else photo
