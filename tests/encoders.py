"""Tiny random encoders of each family, in folders as a hub has them, made once a process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from models.encoders.source import Source
from training import tiny_encoders

TEXTS = (
    "A dog runs on the beach.",
    "dog",
    "a red circle, left of a blue square: it isn't",
    "two cats (and a bird)",
    "a tree above the house",
)


@cache
def folder(family: str) -> Path:
    """The folder of a family's encoder; nobody may change it."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    tiny_encoders.untrained(family, made / family, TEXTS)
    return made / family


def options(family: str) -> dict[str, object]:
    """Options of a tower on that folder."""
    source = Source.of(folder(family))
    return {"folder": source.folder, "files": source.files, "rank": 4}
