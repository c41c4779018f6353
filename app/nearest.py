"""Nearest names: what a misspelled key or option was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA

NEAR = 0.5  # of a name's letters, those that must agree with the one that is named as nearest


def nearest(key: str, known: Iterable[str], kind: str = "key") -> str:
    """The end of a sentence about an unknown name: the nearest one of those there are."""
    near = nearest_name(key, known)
    return "" if near is None else f"; the nearest {kind} is {near!r:.100}"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The nearest one of some names, whatever its case; None if there is none near."""
    near = process.extractOne(
        name,
        list(known),
        scorer=OSA.normalized_similarity,
        processor=str.casefold,
        score_cutoff=NEAR,
    )
    return None if near is None else near[0]
