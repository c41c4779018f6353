"""Groups of a sentence's fragments: a content word with its function words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from models.text.lexicon import is_enclitic, is_function_word
from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span


@dataclass(frozen=True, slots=True)
class Group:
    """Fragments of one phrase, and its content words among them."""

    fragments: tuple[int, ...]
    heads: tuple[int, ...]

    def join(self, other: Group) -> Group:
        """Both groups as one."""
        return Group(self.fragments + other.fragments, self.heads + other.heads)


def word_groups(sentence: FragmentBag) -> list[Group]:
    """The fragments of each phrase, in the order of the text.

    Function words go with the next content word, those at the end and enclitics with the one
    before. Where there are no content words, all words are one phrase.
    """
    return list(group_words(sentence.labels, sentence.places))


@lru_cache(maxsize=64)  # all hits of a search have the same
def group_words(labels: tuple[str, ...], places: Sequence[Box | Span]) -> tuple[Group, ...]:
    """The groups of fragments with some labels and places."""
    groups: list[Group] = []
    waiting: tuple[int, ...] = ()
    starts = [place.start for place in places if isinstance(place, Span)]
    last = [label == WHOLE_SENTENCE for label in labels]  # behind its words
    for _, _, fragment in sorted(zip(last, starts, range(len(labels)), strict=True)):
        label = labels[fragment]
        if not is_function_word(label):
            groups.append(Group((*waiting, fragment), (fragment,)))
            waiting = ()
        elif groups and not waiting and is_enclitic(label):
            groups[-1] = groups[-1].join(Group((fragment,), ()))
        else:
            waiting += (fragment,)
    if waiting and groups:
        groups[-1] = groups[-1].join(Group(waiting, ()))
    elif waiting:
        groups = [Group(waiting, waiting)]
    return tuple(groups)


def join_neighbours(
    sentence: FragmentBag, groups: Sequence[Group], regions: Sequence[int]
) -> tuple[list[Group], list[int]]:
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
    return long, joined_regions
