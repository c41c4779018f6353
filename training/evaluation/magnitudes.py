"""Magnitudes of words: the mean lengths of their vectors over a split (DVSA, table 4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from models.types import WHOLE_SENTENCE, FragmentBag


@dataclass(frozen=True, slots=True)
class Magnitude:
    """A word, the mean of |s_t| over all its occurrences, and how many they are."""

    word: str
    mean: float
    count: int


def magnitudes(sentences: Iterable[FragmentBag], least_count: int) -> list[Magnitude]:
    """Mean |s_t| of each word, largest first (Karpathy & Fei-Fei 2015, section 6.1 and table 4).

    A word's vector depends on its sentence, hence the mean. Words are fragments' labels in lower
    case, so relations count as pairs of words; fragments for whole sentences are left out.
    ValueError if no word comes least_count times.
    """
    lengths: dict[str, list[float]] = defaultdict(list)
    for bag in sentences:
        for label, length in zip(bag.labels, bag.vectors.norm(dim=1).tolist(), strict=True):
            if label != WHOLE_SENTENCE:
                lengths[label.lower()].append(length)
    frequent = [
        Magnitude(word, sum(norms) / len(norms), len(norms))
        for word, norms in lengths.items()
        if len(norms) >= least_count
    ]
    if not frequent:
        raise ValueError(
            f"no word has {least_count} fragments of its own; take a matcher of bags and more text"
        )
    return sorted(frequent, key=lambda magnitude: (-magnitude.mean, magnitude.word))
