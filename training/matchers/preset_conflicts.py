"""Conflicting options of a matcher's preset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ADOPTED = "pretrained"  # both towers of an adopted dual encoder
WITHOUT_LABELS = {"catalogue", "teachers", "terms", "hold_out"}


def refuse_conflicts(tables: Mapping[str, Any]) -> None:
    """Raise ValueError for options of a wrong type, or conflicts."""
    if "terms" in tables and not {"start", "catalogue"} <= tables.keys():
        raise ValueError("[terms] needs [start] and [catalogue]: give both")
    refuse_labels(tables)
    if "hold_out" in tables and tables.keys() & {"catalogue", "teachers"}:
        raise ValueError("hold_out goes with neither [catalogue] nor [teachers]: leave it out")
    if not isinstance(tables.get("hold_out", 1), int):
        raise ValueError(f"hold_out is {tables['hold_out']!r}: give a number of photos")
    if not isinstance(tables.get("mirrored", True), bool):
        raise ValueError(f"mirrored is {tables['mirrored']!r}: give true or false")
    for option in ("mirrored", "cropped"):
        if "terms" in tables and option in tables:
            raise ValueError(f"{option} does not go with [terms]: leave it out")
    cropped = tables.get("cropped", 1.0)
    if not isinstance(cropped, float | int) or not 0 < cropped <= 1:
        raise ValueError(f"cropped is {cropped!r}: give a share of sides, such as 0.75")


def refuse_labels(tables: Mapping[str, Any]) -> None:
    """Raise ValueError for labels without their objective, or with conflicting tables."""
    if "labels" in tables and (other := tables.keys() & WITHOUT_LABELS):
        raise ValueError(f"[labels] does not go with {', '.join(sorted(other))}: leave it out")
    objectives = list_objectives(tables.get("objective", []))
    if any(row.get("name") == "labels" for row in objectives) != ("labels" in tables):
        raise ValueError("the objective labels and [labels] need each other: give both, or neither")


def list_objectives(
    tables: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Sequence[Mapping[str, Any]]:
    """List the tables of one [objective] or several [[objective]]."""
    return [tables] if isinstance(tables, Mapping) else tables


def refuse_unadopted(config: object, name: object) -> None:
    """Raise ValueError unless a model's config is an adopted dual encoder's."""
    if getattr(getattr(config, "image", None), "name", None) != ADOPTED:
        raise ValueError(f"{name} is no adopted dual encoder; `tessera adopt` makes one")
