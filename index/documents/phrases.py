"""Phrases: the values of a key that have a few words, in the order of those words folded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from index.filters import Scalar
from index.documents.words import words

LONGEST = 4  # words of a phrase


def folded(text: str) -> str:
    """A text's words as they are compared."""
    return " ".join(word.folded for word in words(text))


class Phrases:
    """Values of two to LONGEST words, found by how they begin; values are added, never removed."""

    def __init__(self) -> None:
        self._sorted: list[tuple[str, int]] = []
        self._size = 0

    def extend(self, values: Sequence[Scalar]) -> None:
        """Take in the values that came after those of the last call."""
        if self._size == len(values):
            return
        self._sorted += [
            (folded(value), code)
            for code, value in enumerate(values[self._size :], self._size)
            if isinstance(value, str) and 0 < value.count(" ") < LONGEST
        ]
        self._sorted.sort()
        self._size = len(values)

    def beginning(self, prefix: str) -> list[int]:
        """The codes of the values whose folded words begin with a prefix."""
        first = bisect_left(self._sorted, (prefix, -1))
        last = bisect_left(self._sorted, (prefix + "\U0010ffff", -1))
        return [code for _, code in self._sorted[first:last]]
