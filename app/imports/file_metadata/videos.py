"""Metadata of videos from the tags of their files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from app.imports.file_metadata import dates
from app.imports.file_metadata.exif import name_camera
from app.imports.file_metadata.pictures import describe_size
from app.imports.file_metadata.texts import clean_line, clean_text, read_number, read_position

if TYPE_CHECKING:
    from models.vision.formats.video_frames import Video

APPLE = "com.apple.quicktime."
ISO_6709 = re.compile(r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)", re.ASCII)


def read_video_tags(video: Video) -> dict[str, Any]:
    """Read a video's tags: date, place, camera and words."""

    def first(*names: str) -> str:
        return next((video.tags[name] for name in names if video.tags.get(name)), "")

    facts: dict[str, Any] = {
        "camera": name_camera(
            first(f"{APPLE}make", "com.android.manufacturer", "make"),
            first(f"{APPLE}model", "com.android.model", "model"),
        ),
        "title": clean_line(first(f"{APPLE}title", "title")),
        "description": clean_text(first(f"{APPLE}description", "description", "comment")),
        "duration": round(video.duration, 2) or None,
        "seconds": [frame.second for frame in video.frames],
        **_read_place(first(f"{APPLE}location.iso6709", "location", "location-eng")),
        **describe_size(video.width, video.height),
    }
    # Apple's date is local; that of the format is UTC by its definition.
    moments = (first(f"{APPLE}creationdate"), first("creation_time", "date"))
    taken = next((when for each in moments if (when := dates.read_date(each))), None)
    if taken:
        facts |= {"taken": taken, "taken_from": "video"}
    return {key: value for key, value in facts.items() if value not in (None, "", [])}


def _read_place(text: str) -> dict[str, Any]:
    """Read a position of ISO 6709, in degrees."""
    match = ISO_6709.match(text)
    if match is None:
        return {}
    return read_position(read_number(match[1]), read_number(match[2]))
