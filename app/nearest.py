"""Nearest names: suggestions for a misspelled key or option."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA

NEAR = 0.5  # the least share of letters that must agree with a suggestion


def nearest(key: str, known: Iterable[str], kind: str = "key") -> str:
    """Suggest the nearest name, as the end of a sentence."""
    near = nearest_name(key, known)
    return "" if near is None else f"; the nearest {kind} is {near!r:.100}"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest name, ignoring case; None if none is near."""
    near = process.extractOne(
        name,
        list(known),
        scorer=OSA.normalized_similarity,
        processor=str.casefold,
        score_cutoff=NEAR,
    )
    return None if near is None else near[0]
