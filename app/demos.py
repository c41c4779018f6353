"""Demonstrations: folders of items with example queries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.defaults import DEFAULT_COLLECTION
from app.imports.folder import find
from app.imports.sources import ImportOutcome, ItemSource

DEMOS = Path(__file__).parent / "demos"


@dataclass(frozen=True, slots=True)
class ExampleQuery:
    """An example query and the id of the matching item."""

    text: str
    id: str


@dataclass(frozen=True, slots=True)
class Demo:
    """A demonstration: a folder of items, example queries, and a collection.

    Each item has the demonstration's name under `sample` in its metadata.
    """

    name: str
    collection: str

    @property
    def folder(self) -> Path:
        """The folder of its items."""
        return DEMOS / self.name

    def sources(self) -> list[ItemSource | ImportOutcome]:
        """List its items, including those in packages.

        LookupError where scikit-image's photos are wanted and not installed.
        """
        return [*find([self.folder / "items.jsonl"]), *self._list_packaged()]

    def examples(self) -> list[ExampleQuery]:
        """List the example queries of the page with their items' ids."""
        return [ExampleQuery(**row) for row in _read_rows(self.folder / "examples.jsonl")]

    def _list_packaged(self) -> list[ItemSource]:
        """List the items with photos of scikit-image."""
        file = self.folder / "packaged.jsonl"
        return [
            ItemSource(
                id=row["id"],
                place=f"{file}#{row['id']}",
                stamp="1",
                photos=(_find_skimage() / row["image"],),
                metadata=row["metadata"],
            )
            for row in (_read_rows(file) if file.exists() else [])
        ]


PHOTOS = Demo("photos", DEFAULT_COLLECTION)
ALL = {demo.name: demo for demo in (PHOTOS, Demo("products", "products"))}


def _read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _find_skimage() -> Path:
    """Find the folder of scikit-image's photos."""
    package = find_spec("skimage")
    if package is None or package.origin is None:
        raise LookupError("install scikit-image: it carries some of the sample photos")
    return Path(package.origin).parent / "data"
