"""EXIF of photos: time, place, camera and words."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from PIL import Image

from app.imports.file_metadata import dates
from app.imports.file_metadata.texts import (
    clean_line,
    clean_lines,
    clean_text,
    decode_text,
    read_number,
    read_position,
    read_rating,
)
from models.vision.upright import BROKEN

# Tags of EXIF 3.0 and of Windows.
PHOTO, GPS = 0x8769, 0x8825
DESCRIPTION, MAKE, MODEL, CHANGED, RATING = 0x010E, 0x010F, 0x0110, 0x0132, 0x4746
TAKEN, DIGITIZED, OFFSET, TAKEN_OFFSET = 0x9003, 0x9004, 0x9010, 0x9011
LENS_MAKE, LENS = 0xA433, 0xA434
WINDOWS_TITLE, WINDOWS_COMMENT, WINDOWS_KEYWORDS = 0x9C9B, 0x9C9C, 0x9C9E
LATITUDE, LONGITUDE, GPS_TIME, GPS_DAY = (1, 2), (3, 4), 7, 29

NO_DESCRIPTION = (  # what cameras write into every photo
    *("olympus digital camera", "sony dsc", "samsung camera pictures", "dcim", "untitled"),
    *("minolta digital camera", "kodak digital still camera", "default", "screenshot", "jpeg"),
)
Tags = dict[int, Any]


def read_exif(exif: Image.Exif) -> dict[str, Any]:
    """Read the EXIF of a photo; broken tags are left out."""
    tags, photo, gps = _read_tags(exif), _read_part(exif, PHOTO), _read_part(exif, GPS)
    facts: dict[str, Any] = {
        "camera": name_camera(tags.get(MAKE), tags.get(MODEL)),
        "lens": clean_line(photo.get(LENS)),
        "rating": read_rating(tags.get(RATING)),
        "title": clean_line(_decode_windows(tags.get(WINDOWS_TITLE))),
        "description": _read_description(tags),
        "keywords": clean_lines(_decode_windows(tags.get(WINDOWS_KEYWORDS)).split(";")),
        **_read_position(gps),
    }
    if taken := _read_taken(tags, photo, gps):
        facts |= {"taken": taken, "taken_from": "exif"}
    return {key: value for key, value in facts.items() if value not in (None, "", [])}


def name_camera(make: Any, model: Any) -> str:
    """Name a camera by its maker and model, each once.

    >>> name_camera("Canon", "Canon EOS 80D"), name_camera("Apple", "iPhone 12")
    ('Canon EOS 80D', 'Apple iPhone 12')
    """
    maker, name = clean_line(make), clean_line(model)
    if not maker or name.lower().startswith(maker.split(" ")[0].lower()):
        return name
    return f"{maker} {name}".strip()


def _read_tags(exif: Image.Exif) -> Tags:
    tags: Tags = {}
    names = (MAKE, MODEL, CHANGED, RATING, DESCRIPTION, WINDOWS_TITLE, WINDOWS_COMMENT)
    for tag in (*names, WINDOWS_KEYWORDS):
        with suppress(*BROKEN):
            tags[tag] = exif.get(tag)
    return tags


def _read_part(exif: Image.Exif, tag: int) -> Tags:
    with suppress(*BROKEN):
        return dict(exif.get_ifd(tag))
    return {}


def _read_description(tags: Tags) -> str:
    text = clean_text(tags.get(DESCRIPTION))
    if text.lower() in NO_DESCRIPTION:
        text = ""
    return text or clean_text(_decode_windows(tags.get(WINDOWS_COMMENT)))


def _decode_windows(value: Any) -> str:
    """Decode a text of Windows's tags, in UTF-16."""
    if isinstance(value, tuple):
        with suppress(*BROKEN):
            value = bytes(value)
    return value.decode("utf-16-le", "ignore").rstrip("\0") if isinstance(value, bytes) else ""


def _read_taken(tags: Tags, photo: Tags, gps: Tags) -> str | None:
    """Read the local time of the photo, with its offset if known."""
    moments = (photo.get(TAKEN), photo.get(DIGITIZED), tags.get(CHANGED))
    taken = next((when for each in moments if (when := dates.read_date(decode_text(each)))), None)
    if taken is None or len(taken) != len("2019-08-04T15:22:10"):
        return taken
    written = decode_text(photo.get(TAKEN_OFFSET)) or decode_text(photo.get(OFFSET))
    if offset := dates.read_offset(written):
        return taken + offset
    satellites = _read_gps_time(gps)
    return taken + dates.derive_offset(taken, satellites) if satellites else taken


def _read_gps_time(gps: Tags) -> datetime | None:
    """Read the time of satellites, in UTC."""
    day = dates.read_date(decode_text(gps.get(GPS_DAY)))
    with suppress(*BROKEN):
        hours, minutes, seconds = (float(part) for part in gps[GPS_TIME])
        clock = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.fromisoformat(day) + clock if day else None
    return None


def _read_position(gps: Tags) -> dict[str, Any]:
    latitude, longitude = (_read_angle(gps, *pair) for pair in (LATITUDE, LONGITUDE))
    return read_position(latitude, longitude)


def _read_angle(gps: Tags, side: int, angle: int) -> float | None:
    """Read degrees, minutes and seconds as degrees; south and west below 0."""
    parts = gps.get(angle)
    numbers = [read_number(part) for part in parts[:3]] if isinstance(parts, tuple) else []
    if not numbers or numbers[0] is None:
        return None
    degrees: float = sum((each or 0) / 60**power for power, each in enumerate(numbers))
    return -degrees if decode_text(gps.get(side))[:1].upper() in ("S", "W") else degrees
