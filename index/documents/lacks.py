"""Named lacks of a thing: "sugar-free", "no sugar", "free of sugar"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from index.documents.languages.english import ENGLISH
from index.documents.languages.word_language import WordLanguage
from index.documents.words import WrittenWord

# What begins the term of a word that is named as lacking. "Sugar free" says so, but "Nike Free" is
# a name: what may be one counts as the word as well.
LACKING, MAYBE_LACKING = "¬", "~"
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


def find_lacks(words: Sequence[WrittenWord], language: WordLanguage = ENGLISH) -> Iterator[Lack]:
    """Find the named lacks of some words, by places among their tokens."""
    folded = [token.folded for word in words for token in word.tokens]
    if (language.without | language.free).isdisjoint(folded):
        return
    # Of the last token of each word, where the next one begins.
    ends = set(accumulate(len(word.tokens) for word in words))
    for place, token in enumerate(folded):
        if token in language.without:
            yield from _name(folded, language, place, place + 1)
        elif token in language.free:
            yield from _name(folded, language, place, place + 2, FROM)
            if place and _is_thing(folded[place - 1], language):
                sign = MAYBE_LACKING if place in ends else LACKING
                yield Lack(place - 1, place - 1, place, sign)


def _name(
    folded: Sequence[str],
    language: WordLanguage,
    first: int,
    place: int,
    before: frozenset[str] | None = None,
) -> Iterator[Lack]:
    """The named words from a place on, joined by "and" or "or"."""
    if before is not None and (place > len(folded) or folded[place - 1] not in before):
        return
    while place < len(folded):
        if folded[place] in ADDED:
            place += 1
            continue
        if not _is_thing(folded[place], language):
            return
        yield Lack(place, first, place)
        if place + 1 == len(folded) or folded[place + 1] not in GOES_ON:
            return
        place += 2


def _is_thing(token: str, language: WordLanguage) -> bool:
    return token.isalpha() and not language.is_function_word(token)


def lacking_terms(word: str, language: WordLanguage = ENGLISH) -> list[str]:
    """The terms of things without the thing of a word.

    >>> lacking_terms("salt")
    ['¬salt', '~salt', 'saltless', 'unsalt']
    """
    stem = language.stem
    return [
        LACKING + stem(word),
        MAYBE_LACKING + stem(word),
        *map(stem, language.name_lacking(word)),
    ]
