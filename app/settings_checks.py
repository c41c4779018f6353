"""Checks of settings: the data folder, the picture store, web origins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

ONE_SLASH = re.compile(r"(s3a?|gs|az|azure|file|https?):(?!//)/*", re.IGNORECASE)
# As browsers send it: in small letters, without a path.
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\sA-Z]+")


def check_data_folder(data: Path) -> Path:
    """Return a data folder; ValueError for a file."""
    if data.exists() and not data.is_dir():
        raise ValueError("this is a file; name the data folder")
    return data


def check_picture_store(pictures: str) -> str:
    """Return a picture store; ValueError for an address without two slashes."""
    if wrong := ONE_SLASH.match(pictures):
        corrected = f"{wrong[1]}://{pictures[wrong.end() :]}"
        raise ValueError(f"write {corrected} for an object store, or ./{pictures} for a folder")
    return pictures


def check_origin(origin: str) -> str:
    """Return a web origin; ValueError for one unlike those of browsers."""
    if origin not in ("*", "null") and not ORIGIN.fullmatch(origin):
        raise ValueError(
            f"{origin!r} is no origin such as https://photos.example: it has a scheme, small "
            "letters and no path"
        )
    return origin


DataFolder = Annotated[Path, AfterValidator(check_data_folder)]
PictureStore = Annotated[str, AfterValidator(check_picture_store)]
WebOrigin = Annotated[str, AfterValidator(check_origin)]
