"""Noun phrases of a text: nouns with the words before them."""

from __future__ import annotations

from collections.abc import Sequence

from models.text.negation import NEGATIONS
from models.text.parsing import NO_HEAD, parse_trees
from models.types import Span, Word

INSIDE = frozenset({"compound", "flat"})  # relations of nouns that are part of another's name
BEFORE = frozenset({"case", "cc", "mark"})  # relations of words that lead to a phrase: "on", "and"


def noun_phrases(text: str) -> list[Span]:
    """The noun phrases of a text, none within another and none negated.

    "a cup of coffee" is one phrase, "no dog" none.
    """
    (tree,) = parse_trees([text])
    phrases: list[range] = []
    for noun, word in enumerate(tree.words):
        inside = word.relation in INSIDE or any(noun in phrase for phrase in phrases)
        if word.tag.startswith("NN") and not inside:
            phrase = range(_first(tree.words, noun), _last(tree.words, noun) + 1)
            if not any(tree.words[place].text.lower() in NEGATIONS for place in phrase):
                phrases.append(phrase)
    ends = [
        (tree.words[phrase[0]].span.start, tree.words[phrase[-1]].span.end) for phrase in phrases
    ]
    return [
        Span(start, end)
        for start, end in ends
        if not any(
            (start, end) != other and other[0] <= start and end <= other[1] for other in ends
        )
    ]


def _first(words: Sequence[Word], noun: int) -> int:
    """Where the words begin that describe a noun, right before it."""
    first, below = noun, {noun: True}
    while first > 0 and _below(words, first - 1, below) and not _leads(words[first - 1], noun):
        first -= 1
    return first


def _leads(word: Word, noun: int) -> bool:
    return word.head == noun and word.relation in BEFORE


def _last(words: Sequence[Word], noun: int) -> int:
    """The last word of a noun's phrase, with its name and its "of"."""
    while noun + 1 < len(words) and (words[noun + 1].head, words[noun + 1].relation) == (
        noun,
        "flat",
    ):
        noun += 1
    for place in range(len(words) - 1, noun, -1):
        of = words[noun + 1].text.lower() == "of" and words[noun + 1].head == place
        if of and words[place].head == noun and words[place].tag.startswith("NN"):
            return _last(words, place)
    return noun


def _below(words: Sequence[Word], place: int, below: dict[int, bool]) -> bool:
    """Whether a word depends on one that is known to be below, through others or directly.

    What is learned of the words on the way is added: each is looked at once.
    """
    way = []
    while place != NO_HEAD and place not in below:
        way.append(place)
        place = words[place].head
    depends = below.get(place, False)
    below |= dict.fromkeys(way, depends)
    return depends
