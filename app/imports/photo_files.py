"""Photo files of imports: their decoders and complete metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from app.engine.drafts import PhotoFile
from app.imports.file_metadata import dates, places
from app.imports.file_metadata.reading import FileLimits, Sidecar, read_file
from app.settings import Positions, Settings
from models.vision import images
from models.vision.images import DisplayCopy, Photo
from models.vision.photo_decoding import MOST_BYTES, MOST_PIXELS

VERSION = 2  # of what is read of a file; a change of it reads stored photos' files again
TEXTS_VERSION = 1  # of how text in photos is read, likewise
LIMITS = FileLimits(MOST_BYTES, MOST_PIXELS)
POSITION = ("latitude", "longitude")
PLACES = ("city", "region", "country")
IN_UTC = ("video", "takeout")  # sources of dates that know no local time


class FileDecoder(Protocol):
    """Decodes photos, and reads files with their metadata."""

    def __call__(self, data: bytes) -> DisplayCopy:
        """Return a photo's display copy."""
        ...

    def read(self, file: bytes | Path, sidecars: Sequence[Sidecar] = ()) -> PhotoFile:
        """Return a file's photos and metadata."""
        ...


@dataclass(frozen=True, slots=True)
class DirectDecoder:
    """Decodes in this process; for trusted files."""

    limits: FileLimits = LIMITS

    def __call__(self, data: bytes) -> DisplayCopy:
        """Return a photo's display copy."""
        return self._read(data, None).copies[0]

    def read(self, file: bytes | Path, sidecars: Sequence[Sidecar] = ()) -> PhotoFile:
        """Return a file's photos and metadata."""
        return self._read(file, sidecars)

    def _read(self, file: bytes | Path, sidecars: Sequence[Sidecar] | None) -> PhotoFile:
        content = read_file(file, self.limits, sidecars)
        copies = tuple(
            images.display_copy(Photo(images.as_tensor(photo.pixels), photo.notes))
            for photo in content.photos
        )
        return PhotoFile(copies, digest_of(file, copies), content.metadata)


def digest_of(file: bytes | Path, copies: Sequence[DisplayCopy]) -> tuple[str, ...]:
    """Return the digests of a file's photos, by bytes or copies."""
    if isinstance(file, bytes) and len(copies) == 1:
        return (sha256(file).hexdigest(),)
    return tuple(sha256(copy.jpeg).hexdigest() for copy in copies)


@dataclass(frozen=True, slots=True)
class FileReading:
    """The options of reading metadata: positions to keep, text in photos."""

    positions: Positions = "full"
    of_folder: bool = True  # whose files have names and times of their own
    texts: bool = False  # whether text in photos is read, by the decoder

    @classmethod
    def of(cls, settings: Settings, *, of_folder: bool = True) -> FileReading:
        """Take the options from the settings."""
        return cls(settings.positions, of_folder, settings.ocr)

    @property
    def stamp(self) -> str:
        """The version of reading, as a part of stamps."""
        return f"m{VERSION}{self.positions[0]}{self.texts_stamp}"

    @property
    def texts_stamp(self) -> str:
        """The version of reading text, as a part of stamps; empty without."""
        return f"t{TEXTS_VERSION}" if self.texts else ""

    def complete(self, read: Mapping[str, Any], file: Path | None = None) -> dict[str, Any]:
        """Complete metadata by a file's name and time and by places' names."""
        facts = dict(read)
        if self.of_folder and file is not None:
            facts |= _date_by_file(facts, file)
        if "latitude" in facts and not facts.keys() & {"city", "country"}:
            facts |= places.find_place(facts["latitude"], facts["longitude"])
        dropped = {"full": (), "places": POSITION, "none": (*POSITION, *PLACES)}[self.positions]
        return {key: value for key, value in facts.items() if key not in dropped}


def _date_by_file(facts: Mapping[str, Any], file: Path) -> dict[str, str]:
    """Return the date in a file's name, or of its change.

    Of a stated moment in UTC its local time, if the name has it.
    """
    named = dates.read_name(file.name)
    if "taken" in facts:
        in_utc = facts["taken_from"] in IN_UTC
        return {"taken": dates.write_local(facts["taken"], named)} if in_utc else {}
    if named:
        return {"taken": named, "taken_from": "name"}
    try:
        changed = dates.write_file_time(file.stat().st_mtime)
    except OSError:
        return {}
    return {"taken": changed, "taken_from": "file"} if changed else {}
