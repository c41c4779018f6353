"""Findings: problems of stored data, and their repairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from index.items import Collection

RESTORE = "restore a snapshot"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A problem of stored data.

    The text ends with advice unless there is a `repair`; `left` is what is to be done after it.
    """

    part: str  # of stored data: database, settings, revisions, items, pictures, segments
    subject: str  # the collection, and perhaps the item
    problem: str
    repair: Callable[[], None] | None = None
    left: str = ""


def name_subject(collection: Collection, item: str | None = None) -> str:
    """Name a collection, or one of its items, in findings."""
    return collection.name or "(in the making)" if item is None else f"{collection.name}/{item}"
