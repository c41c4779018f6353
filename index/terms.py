"""Terms: words of fields and of queries in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

# Letters and digits, with the signs that join them inside a word: "t-shirt", "AB-12/3", "women's".
WORD = re.compile(r"[^\W_]+(?:[-–./'’&+][^\W_]+)*")
PART = re.compile(r"[^\W_]+")
STEMMER = snowballstemmer.stemmer("english")


@dataclass(frozen=True, slots=True)
class Word:
    """A word where it stands in a text: text[start:end], and as it is written there, folded."""

    folded: str
    start: int
    end: int


def words(text: str) -> Iterator[Word]:
    """The words of a text; one with signs inside counts as a whole.

    >>> [word.folded for word in words("Women's T-Shirts, size 4.5")]
    ['women', 'tshirts', 'size', '45']
    """
    for match in WORD.finditer(text):
        if folded := fold(match.group()):
            yield Word(folded, match.start(), match.end())


def spelled(text: str) -> Iterator[tuple[str, str]]:
    """The words under which a text is found: its words, and the parts that signs join.

    Each as it is folded, and as it is written in lower case.

    >>> dict(spelled("Café T-Shirts AB-12"))  # doctest: +NORMALIZE_WHITESPACE
    {'cafe': 'café', 'tshirts': 't-shirts', 't': 't', 'shirts': 'shirts', 'ab12': 'ab-12',
     'ab': 'ab', '12': '12'}
    """
    for match in WORD.finditer(text):
        whole = _without_possessive(match.group())
        parts = PART.findall(whole)
        for word in (whole, *parts) if len(parts) > 1 else (whole,):
            yield fold(word), word.lower()


@lru_cache(2**16)
def fold(word: str) -> str:
    """A word in lower case, without accents and signs."""
    letters = unicodedata.normalize("NFKD", _without_possessive(word).casefold())
    return "".join(sign for sign in letters if sign.isalnum())


@lru_cache(2**16)
def stem(folded: str) -> str:
    """A folded word without its ending, as it is compared; one with digits stays as it is."""
    if any(sign.isdigit() for sign in folded):
        return folded
    stemmed: str = STEMMER.stemWord(folded)
    return stemmed


def _without_possessive(word: str) -> str:
    return re.sub(r"['’]s?$", "", word)
