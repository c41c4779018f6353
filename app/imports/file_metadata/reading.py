"""Reading of one file: its photos and metadata; imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from app.imports.file_metadata.pictures import (
    Facts,
    combine,
    describe_size,
    read_picture,
    read_tiff,
)
from app.imports.file_metadata.regular_files import open_regular
from app.imports.file_metadata.sidecars import read_sidecar
from app.imports.file_metadata.texts import clean_line
from app.imports.file_metadata.videos import read_video_tags
from models.vision import photo_decoding
from models.vision.formats.animations import read_animation
from models.vision.formats.kinds import HEAD, kind_of
from models.vision.formats.video_frames import MOST_FRAMES, read_video
from models.vision.photo_decoding import (
    DISPLAY_SIDE,
    FOOTAGE_BYTES,
    Decoded,
    NotAnImage,
    Pixels,
)
from models.vision.visible_words import LONGEST_SIDE

EMPTY = "the file is empty"
ONE_FRAME = "only one frame of the video was used"
BROKEN = "its {} sidecar cannot be read: what that says of the photo is missing"
RAW_HEADER = 2**20  # bytes of a raw file in which its EXIF is looked for


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Most bytes and pixels of a picture, and bytes of footage."""

    most_bytes: int
    most_pixels: int
    footage_bytes: int = FOOTAGE_BYTES


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A file next to a photo, by its ending, such as .xmp."""

    ending: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileContent:
    """The photos of a file, several of some, and its metadata."""

    photos: tuple[Decoded, ...]
    metadata: Facts = field(default_factory=dict)


def read_file(
    file: bytes | Path, limits: FileLimits, sidecars: Sequence[Sidecar] | None = None
) -> FileContent:
    """Read a file's photos, at display size, and its metadata.

    Without `sidecars` only one photo and no metadata. Raises OSError, and errors of
    models.vision.photo_decoding.decode.
    """
    with _open(file, limits) as opened:
        head = opened.read(HEAD)
        opened.seek(0)
        if not head:
            raise NotAnImage(EMPTY)
        kind = kind_of(head, file.suffix.lower() if isinstance(file, Path) else "")
        if kind == "video":
            content = _read_video(opened, limits, 1 if sidecars is None else MOST_FRAMES)
        elif kind == "pdf":
            content = _read_pdf(opened, 1 if sidecars is None else None)
        elif kind == "raw":
            content = _read_raw(opened, limits)
        else:
            content = _read_picture(opened, limits, described=sidecars is not None)
    if sidecars is None:
        return FileContent(content.photos[:1])
    beside, notes = list[Facts](), list[str]()
    for sidecar in sidecars:
        try:
            beside.append(read_sidecar(sidecar.ending, sidecar.data))
        except ValueError:
            notes.append(BROKEN.format(sidecar.ending))
    first, *others = content.photos
    first = Decoded(first.pixels, (*first.notes, *notes))
    return FileContent((first, *others), _combine(content.metadata, beside))


def enlarge(file: bytes | Path, limits: FileLimits, content: FileContent) -> Sequence[Pixels]:
    """Return a file's photos to read their text; pictures are larger."""
    photos = [photo.pixels for photo in content.photos]
    if len(photos) > 1 or not isinstance(file, bytes) or max(photos[0].shape) < DISPLAY_SIDE:
        return photos
    if kind_of(file[:HEAD]) != "picture":
        return photos
    most = {"most_bytes": limits.most_bytes, "most_pixels": limits.most_pixels}
    return [photo_decoding.decode(file, longest=LONGEST_SIDE, **most).pixels]


def _combine(metadata: Facts, sidecars: Sequence[Facts]) -> Facts:
    """Combine facts: words of sidecars come first, and their dates last."""
    words = [
        {key: value for key, value in facts.items() if not key.startswith("taken")}
        for facts in sidecars
    ]
    return combine(*words, metadata, *sidecars)


def _read_picture(file: BinaryIO, limits: FileLimits, *, described: bool) -> FileContent:
    data = file.read(limits.most_bytes + 1)
    most = {"most_bytes": limits.most_bytes, "most_pixels": limits.most_pixels}
    photo = photo_decoding.decode(data, longest=DISPLAY_SIDE, **most)
    if not described:
        return FileContent((photo,))
    metadata = read_picture(data, limits.most_pixels)
    frames, duration = read_animation(data, limits.most_pixels, DISPLAY_SIDE)
    if not frames:
        return FileContent((photo,), metadata)
    moving = {"duration": duration, "seconds": [frame.second for frame in frames]}
    return FileContent(tuple(frame.photo for frame in frames), metadata | moving)


def _read_raw(file: BinaryIO, limits: FileLimits) -> FileContent:
    from models.vision.formats.raw_previews import read_raw  # few files need its library

    raw = read_raw(file, limits.most_pixels, DISPLAY_SIDE)
    file.seek(0)
    header = read_tiff(file.read(RAW_HEADER))
    preview = read_picture(raw.preview, limits.most_pixels) if raw.preview else {}
    return FileContent(
        (raw.photo,), combine(header, preview) | describe_size(raw.width, raw.height)
    )


def _read_video(file: BinaryIO, limits: FileLimits, most: int) -> FileContent:
    video = read_video(file, limits.most_pixels, DISPLAY_SIDE, most)
    photos = tuple(frame.photo for frame in video.frames)
    if most == 1:
        photos = (Decoded(photos[0].pixels, (*photos[0].notes, ONE_FRAME)),)
    return FileContent(photos, read_video_tags(video))


def _read_pdf(file: BinaryIO, most: int | None) -> FileContent:
    from models.vision.formats.pdf_pages import MOST_PAGES, read_pdf  # few files need its library

    pdf = read_pdf(file, DISPLAY_SIDE, most or MOST_PAGES)
    facts = {"title": clean_line(pdf.title), "pages": pdf.pages}
    return FileContent(pdf.photos, {key: value for key, value in facts.items() if value})


@contextmanager
def _open(file: bytes | Path, limits: FileLimits) -> Iterator[BinaryIO]:
    """Open a regular file without waiting, within the limits."""
    if isinstance(file, bytes):
        yield BytesIO(file)
        return
    with open_regular(file, limits.footage_bytes) as opened:
        yield opened
