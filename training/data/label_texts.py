"""Texts of labels, and their truth."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, combinations

import torch
from torch import Tensor

from training.data.corpus import Example

VOWELS = "aeiou"
LEAST_SHARED = 8  # photos that show both things of a text


@dataclass(frozen=True, slots=True)
class LabelTexts:
    """Texts of labels, and their truth for P photos.

    photos are the positions of those with complete labels among all. groups hold the positions of
    texts: each group is one label in several wordings. pairs are the positions of texts about two
    labels. true is (P, N).
    """

    photos: tuple[int, ...]
    texts: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    pairs: tuple[int, ...]
    true: Tensor

    @classmethod
    def of(cls, examples: Sequence[Example]) -> LabelTexts:
        """Write the texts of some examples' labels; ValueError without any label."""
        photos = tuple(k for k, example in enumerate(examples) if example.labels is not None)
        shown = [frozenset(examples[k].labels or ()) for k in photos]
        names = sorted(frozenset().union(*shown))
        if not names:
            raise ValueError("no photo has labels: give photos with complete labels by --labels")
        worded = [(text, {name}) for name in names for text in word_label(name)]
        paired = [(join_labels(a, b), {a, b}) for a, b in find_pairs(names, shown)]
        every = [*worded, *paired]
        return cls(
            photos,
            tuple(text for text, _ in every),
            group_wordings(names),
            tuple(range(len(worded), len(every))),
            torch.tensor([[named <= labels for _, named in every] for labels in shown]),
        )


def group_wordings(names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Number the wordings of all labels, a group a label."""
    counts = [len(word_label(name)) for name in names]
    ends = list(accumulate(counts))
    return tuple(tuple(range(end - count, end)) for end, count in zip(ends, counts, strict=True))


def find_pairs(names: Sequence[str], shown: Sequence[Set[str]]) -> list[tuple[str, str]]:
    """Find the pairs of labels with LEAST_SHARED photos in common."""
    return [
        (a, b)
        for a, b in combinations(names, 2)
        if sum({a, b} <= labels for labels in shown) >= LEAST_SHARED
    ]


def join_labels(a: str, b: str) -> str:
    """Write a text about two labels."""
    return f"{with_article(a)} and {with_article(b)}"


def word_label(name: str) -> tuple[str, ...]:
    """Word a label as people search for it.

    >>> word_label("orange"), word_label("skis")
    (('orange', 'an orange'), ('skis',))
    """
    return tuple(dict.fromkeys((name, with_article(name))))


def with_article(name: str) -> str:
    """Put "a" or "an" before a label, unless it is a plural."""
    if name.endswith("s") and not name.endswith(("ss", "us")):
        return name
    return f"{'an' if name[0] in VOWELS else 'a'} {name}"
