"""Sample photos and example queries for an empty Tessera: some of scikit-image, some in sample/."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.folder import Source

SAMPLE = Path(__file__).parent / "sample"
PACKAGED = "skimage:"


@dataclass(frozen=True, slots=True)
class Example:
    """A query, and the id of the sample photo that it describes."""

    text: str
    id: str


def photos() -> list[Source]:
    """The sample's sources; LookupError where scikit-image's photos are not installed."""
    packaged = _packaged_photos()
    return [
        Source(
            id=row["id"],
            place=f"sample:{row['file'].removeprefix(PACKAGED)}",
            stamp="1",
            photos=(_file(row["file"], packaged),),
            metadata={
                **{key: row[key] for key in ("title", "credit", "license")},
                "sample": True,
            },
        )
        for row in _rows("photos.jsonl")
    ]


def examples() -> list[Example]:
    """Queries that the page offers, each with its right photo."""
    return [Example(**row) for row in _rows("examples.jsonl")]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLE / name).read_text("utf-8").splitlines()]


def _file(name: str, packaged: Path) -> Path:
    """Where a photo is: "skimage:" says that scikit-image brings it."""
    folder = packaged if name.startswith(PACKAGED) else SAMPLE
    return folder / name.removeprefix(PACKAGED)


def _packaged_photos() -> Path:
    package = find_spec("skimage")
    if package is None or package.origin is None:
        raise LookupError("install scikit-image: it carries some of the sample photos")
    return Path(package.origin).parent / "data"
