"""Demonstrations: folders of items with example queries."""

from __future__ import annotations

import json
from dataclasses import dataclass
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
        """List its items."""
        return list(find([self.folder / "items.jsonl"]))

    def examples(self) -> list[ExampleQuery]:
        """List the example queries of the page with their items' ids."""
        return [ExampleQuery(**row) for row in _read_rows(self.folder / "examples.jsonl")]


PHOTOS = Demo("photos", DEFAULT_COLLECTION)
ALL = {demo.name: demo for demo in (PHOTOS, Demo("products", "products"))}


def _read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
