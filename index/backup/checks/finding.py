"""Findings: something that is wrong with stored data, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from index.items import Collection

RESTORE = "restore a snapshot"


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Something wrong; `problem` ends with what a person can do, unless `repair` mends it."""

    part: str  # of what is stored: database, revisions, items, pictures, segments
    subject: str  # which one, as a collection and an item
    problem: str
    repair: Callable[[], None] | None = None


def name_subject(collection: Collection, item: str | None = None) -> str:
    """How a collection, or an item of one, is called in findings."""
    return collection.name or "(in the making)" if item is None else f"{collection.name}/{item}"
