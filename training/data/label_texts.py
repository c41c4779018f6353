"""Texts of labels, and their truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

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
        worded = [word_label(name) for name in names]
        texts = [text for wordings in worded for text in wordings]
        columns = [[name in labels for labels in shown] for name in names for _ in word_label(name)]
        starts = [sum(map(len, worded[:at])) for at in range(len(worded))]
        groups = tuple(
            tuple(range(start, start + len(wordings)))
            for start, wordings in zip(starts, worded, strict=True)
        )
        first_pair = len(texts)
        for a, b in combinations(names, 2):
            both = [{a, b} <= labels for labels in shown]
            if sum(both) >= LEAST_SHARED:
                texts.append(f"{with_article(a)} and {with_article(b)}")
                columns.append(both)
        true = torch.tensor(columns).T.contiguous()
        return cls(photos, tuple(texts), groups, tuple(range(first_pair, len(texts))), true)


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
