"""Events of searches: texts, hits and clicks.

Two files of JSON lines a collection, of this machine: NAME.searches.jsonl has a line a hit, as a
run has, and NAME.clicks.jsonl a line a click, as judgements have. Nothing is written unless the
operator asks for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from app.telemetry.line_files import append, write_time

MOST_HITS = 20  # of a search that are written
LONGEST_NAME = 150  # of a file, in bytes, before its kind

Kind = Literal["searches", "clicks"]
logger = logging.getLogger("tessera")


class EventsOff(ValueError):
    """Events are not written here."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """The files of events; without a folder nothing is written."""

    folder: Path | None

    def add_click(self, collection: str, query: str, item: str, kind: str, weight: float) -> None:
        """Write a click, durably; EventsOff without a folder."""
        if self.folder is None:
            raise EventsOff("events are not written here; TESSERA_EVENTS=true switches them on")
        click = {"query": query, "id": item, "weight": weight, "kind": kind, "time": write_time()}
        append(self.path(collection, "clicks"), [click], durable=True)

    def add_search(
        self, collection: str, query: str | None, hits: Iterable[tuple[str, float]]
    ) -> None:
        """Write the first hits of a text; a failure is logged."""
        if self.folder is None or not (query or "").strip():
            return
        ranked = list(hits)[:MOST_HITS]
        about = {"query": query, "time": write_time()}
        lines: list[dict[str, Any]] = [
            about | {"id": item, "score": score} for item, score in ranked
        ]
        try:
            append(self.path(collection, "searches"), lines or [about | {"id": None}])
        except OSError as failed:  # the search itself has its answer
            logger.warning("a search was not written to the events: %s", failed)

    def path(self, collection: str, kind: Kind) -> Path:
        """The file of a collection's events."""
        assert self.folder is not None
        name = quote(collection, safe=" ")
        if len(name) > LONGEST_NAME:
            name = f"{name[:LONGEST_NAME]}~{blake2b(name.encode(), digest_size=8).hexdigest()}"
        return self.folder / f"{name}.{kind}.jsonl"
