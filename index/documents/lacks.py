"""Named lacks of a thing: "sugar-free", "no sugar", "free of sugar"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from index.documents.stems import stem
from index.documents.words import WrittenWord
from models.text.lexicon import is_function_word

# What begins the term of a word that is named as lacking. "Sugar free" says so, but "Nike Free" is
# a name: what may be one counts as the word as well.
LACKING, MAYBE_LACKING = "¬", "~"
BEFORE = frozenset({"no", "non", "without", "zero"})  # "no sugar"
FREE = "free"
CUES = BEFORE | {FREE}
FROM = frozenset({"of", "from"})  # "free of sugar"
ADDED = frozenset({"added", "any", "artificial"})  # "no added sugar"
GOES_ON = frozenset({"and", "or"})  # "free of milk and eggs"


@dataclass(frozen=True, slots=True)
class Lack:
    """The place of a named lack, and of the words around it."""

    place: int
    first: int
    last: int
    sign: str = LACKING


def find_lacks(words: Sequence[WrittenWord]) -> Iterator[Lack]:
    """Find the named lacks of some words, by places among their tokens."""
    folded = [token.folded for word in words for token in word.tokens]
    if CUES.isdisjoint(folded):
        return
    ends = set[int]()  # of the last token of each word, where the next one begins
    for word in words:
        ends.add((max(ends) if ends else 0) + len(word.tokens))
    for place, token in enumerate(folded):
        if token in BEFORE:
            yield from _name(folded, place, place + 1)
        elif token == FREE:
            yield from _name(folded, place, place + 2, FROM)
            if place and _is_thing(folded[place - 1]):
                sign = MAYBE_LACKING if place in ends else LACKING
                yield Lack(place - 1, place - 1, place, sign)


def _name(
    folded: Sequence[str], first: int, place: int, before: frozenset[str] | None = None
) -> Iterator[Lack]:
    """The named words from a place on, joined by "and" or "or"."""
    if before is not None and (place > len(folded) or folded[place - 1] not in before):
        return
    while place < len(folded):
        if folded[place] in ADDED:
            place += 1
            continue
        if not _is_thing(folded[place]):
            return
        yield Lack(place, first, place)
        if place + 1 == len(folded) or folded[place + 1] not in GOES_ON:
            return
        place += 2


def _is_thing(token: str) -> bool:
    return token.isalpha() and not is_function_word(token)


def lacking_terms(word: str) -> list[str]:
    """The terms of things without the thing of a word.

    >>> lacking_terms("salt")
    ['¬salt', '~salt', 'saltless', 'unsalt']
    """
    names = [word, word.removesuffix("s")] if word.endswith("s") else [word]
    told = [stem(name + "less") for name in names] + [stem(f"un{name}ed") for name in names]
    return [LACKING + stem(word), MAYBE_LACKING + stem(word), *told]
