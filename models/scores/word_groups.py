"""Groups of a sentence's fragments: a content word with its function words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.text.lexicon import is_enclitic, is_function_word
from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span


@dataclass(frozen=True)  # no slots: all hits of a search have the same groups
class Group:
    """Fragments of one phrase, and its content words among them."""

    fragments: tuple[int, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    places: tuple[Span, ...]

    def join(self, other: Group) -> Group:
        """Both groups as one."""
        return Group(
            self.fragments + other.fragments,
            self.heads + other.heads,
            self.labels + other.labels,
            self.places + other.places,
        )

    @cached_property
    def span(self) -> Span:
        """The part of the text from its first to its last word."""
        return Span(min(place.start for place in self.places), max(end for _, end in self.places))

    @cached_property
    def pairs(self) -> str | None:
        """Its labels if they are pairs of words, else None."""
        if all(" " not in label or label == WHOLE_SENTENCE for label in self.labels):
            return None
        return ", ".join(self.labels)


class WordGroups(tuple[Group, ...]):
    """The groups of a sentence's fragments, in the order of the text."""

    @cached_property
    def owners(self) -> dict[int, int]:
        """The number of the group of each fragment."""
        return {at: number for number, group in enumerate(self) for at in group.fragments}

    @cached_property
    def _heads(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Content words of all groups, and each group's start among them."""
        assert all(group.heads for group in self), "a group without a content word"
        sizes = [len(group.heads) for group in self]
        heads = [head for group in self for head in group.heads]
        return np.array(heads), np.array([*accumulate(sizes[:-1], initial=0)])

    def sum_heads(self, similarity: NDArray[Any]) -> NDArray[Any]:
        """Sum the similarities (T, R) of groups' content words, (G, R)."""
        heads, starts = self._heads
        sums: NDArray[Any] = np.add.reduceat(similarity[heads], starts, axis=0)
        return sums


NO_WORDS = Group((), (), (), ())


def word_groups(sentence: FragmentBag) -> WordGroups:
    """The fragments of each phrase.

    Function words go with the next content word, those at the end and enclitics with the one
    before. Where there are no content words, all words are one phrase.
    """
    return group_words(sentence.labels, sentence.places)


@lru_cache(maxsize=64)  # all hits of a search have the same
def group_words(labels: tuple[str, ...], places: Sequence[Box | Span]) -> WordGroups:
    """The groups of fragments with some labels and places."""
    groups: list[Group] = []
    waiting = NO_WORDS
    spans = [place for place in places if isinstance(place, Span)]
    last = [label == WHOLE_SENTENCE for label in labels]  # behind its words
    starts = [span.start for span in spans]
    for _, _, fragment in sorted(zip(last, starts, range(len(labels)), strict=True)):
        label, heads = labels[fragment], () if is_function_word(labels[fragment]) else (fragment,)
        word = Group((fragment,), heads, (label,), (spans[fragment],))
        if heads:
            groups.append(waiting.join(word))
            waiting = NO_WORDS
        elif groups and not waiting.fragments and is_enclitic(label):
            groups[-1] = groups[-1].join(word)
        else:
            waiting = waiting.join(word)
    if waiting.fragments and groups:
        groups[-1] = groups[-1].join(waiting)
    elif waiting.fragments:
        groups = [replace(waiting, heads=waiting.fragments)]
    return WordGroups(groups)


def join_neighbours(
    sentence: FragmentBag, groups: Sequence[Group], regions: Sequence[int]
) -> tuple[WordGroups, list[int]]:
    """Neighbouring groups of one region as one; the whole sentence stays apart."""
    long: list[Group] = []
    joined_regions: list[int] = []
    for group, region in zip(groups, regions, strict=True):
        apart = sentence.labels[group.heads[0]] == WHOLE_SENTENCE
        if joined_regions and joined_regions[-1] == region and not apart:
            long[-1] = long[-1].join(group)
        else:
            long.append(group)
            joined_regions.append(region)
    return WordGroups(long), joined_regions
