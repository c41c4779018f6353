"""Sidecars of photos: .xmp files, and the .json files of Google Takeout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.imports.file_metadata import dates
from app.imports.file_metadata.texts import (
    clean_lines,
    clean_text,
    read_number,
    read_position,
)
from app.imports.file_metadata.xmp import LARGEST, parse_xmp

ENDINGS = (".xmp", ".json")


def read_sidecar(ending: str, data: bytes) -> dict[str, Any]:
    """Read a sidecar's metadata; ValueError if it is broken or too large."""
    return parse_xmp(data) if ending == ".xmp" else read_takeout(data)


def read_takeout(data: bytes) -> dict[str, Any]:
    """Read a photo's date, place, words and people from Google Takeout.

    Other JSON says nothing. ValueError if it is broken or too large.
    """
    if len(data) > LARGEST:
        raise ValueError("too large")
    try:
        sidecar = json.loads(data)
    except RecursionError as deep:
        raise ValueError("nested too deeply") from deep
    if not isinstance(sidecar, dict):
        return {}
    people = sidecar.get("people")
    names = [_part(each, "name") for each in people] if isinstance(people, list) else []
    facts: dict[str, Any] = {
        "description": clean_text(sidecar.get("description")),
        "people": clean_lines(name for name in names if isinstance(name, str)),
        **(_read_place(sidecar, "geoData") or _read_place(sidecar, "geoDataExif")),
    }
    seconds = read_number(_part(sidecar.get("photoTakenTime"), "timestamp"))
    if seconds is not None and (taken := dates.write_moment(seconds)):
        facts |= {"taken": taken, "taken_from": "takeout"}
    return {key: value for key, value in facts.items() if value not in ("", [])}


def _read_place(sidecar: Mapping[str, Any], key: str) -> dict[str, Any]:
    latitude, longitude = (
        read_number(_part(sidecar.get(key), name)) for name in ("latitude", "longitude")
    )
    return read_position(latitude, longitude)


def _part(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
